# SPDX-License-Identifier: Apache-2.0
"""Rewards: what a candidate is worth, decided in a sandbox."""

from .extract import extract_code
from .grade_result import GradeResult
from .specs import PropertyReward, RewardSpec, UnitTestReward, reward_spec_from_ground_truth

__all__ = [
    "GradeResult",
    "PropertyReward",
    "RewardSpec",
    "UnitTestReward",
    "extract_code",
    "reward_spec_from_ground_truth",
]
