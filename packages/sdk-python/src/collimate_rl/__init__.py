# SPDX-License-Identifier: Apache-2.0
"""Fork live sandboxes for RL rollouts.

    from collimate_rl import Ready, Template, connect

    client = connect()
    handle = Template.bake(client, name="swe", image="...@sha256:...", ready=Ready(cmd="python -c 'import torch'"), width=64)
    handle.wait(timeout=600)
    with client.session(handle) as session:
        session.exec(code="x = expensive_prefix()")
        with session.fork_group(64) as group:
            rewards = group.map(lambda i, child: float(child.exec(candidates[i]).ok))

Every name has an asyncio twin that begins with `Async` (`connect_async` for `connect`).
"""

from ._async.connect import connect_async
from ._async.daemon import AsyncCollimateClient
from ._async.env import AsyncEnv
from ._async.fork_group import AsyncForkGroup
from ._async.gateway import AsyncGatewayClient
from ._async.sandbox import AsyncSandbox
from ._async.session import AsyncSession
from ._async.session_client import AsyncSessionClient
from ._async.template import AsyncTemplate, AsyncTemplateHandle
from ._sync.connect import connect
from ._sync.daemon import CollimateClient
from ._sync.env import Env
from ._sync.fork_group import ForkGroup
from ._sync.gateway import GatewayClient
from ._sync.grade import grade, grade_batch
from ._sync.rollout import rollout_once
from ._sync.sandbox import Sandbox
from ._sync.session import Session, open_session
from ._sync.session_client import SessionClient
from ._sync.template import Template, TemplateHandle
from ._version import __version__
from .errors import (
    AuthenticationError,
    BadRequestError,
    CallTimeout,
    CapacityError,
    CollimateDrainingError,
    CollimateError,
    CollimateTaskError,
    ConflictError,
    DemoTierLimit,
    GatewayError,
    NotFoundError,
    NotSupportedError,
    PermissionDeniedError,
    QuotaExceededError,
    RateLimitedError,
    SandboxClosed,
    SeedNotApplied,
    ServerError,
    TemplateBakeFailed,
    TemplateWaitTimeout,
    TransportError,
)
from .exec_result import ExecResult
from .ready import Ready
from .rewards import (
    GradeResult,
    PropertyReward,
    RewardSpec,
    UnitTestReward,
    extract_code,
    reward_spec_from_ground_truth,
)
from .seeds import DET_SEED, fresh_seed, group_seeds, is_valid_seed, seed_from_key
from .template_status import TemplateStatus

__all__ = [
    "DET_SEED",
    "AsyncCollimateClient",
    "AsyncEnv",
    "AsyncForkGroup",
    "AsyncGatewayClient",
    "AsyncSandbox",
    "AsyncSession",
    "AsyncSessionClient",
    "AsyncTemplate",
    "AsyncTemplateHandle",
    "AuthenticationError",
    "BadRequestError",
    "CallTimeout",
    "CapacityError",
    "CollimateClient",
    "CollimateDrainingError",
    "CollimateError",
    "CollimateTaskError",
    "ConflictError",
    "DemoTierLimit",
    "Env",
    "ExecResult",
    "ForkGroup",
    "GatewayClient",
    "GatewayError",
    "GradeResult",
    "NotFoundError",
    "NotSupportedError",
    "PermissionDeniedError",
    "PropertyReward",
    "QuotaExceededError",
    "RateLimitedError",
    "Ready",
    "RewardSpec",
    "Sandbox",
    "SandboxClosed",
    "SeedNotApplied",
    "ServerError",
    "Session",
    "SessionClient",
    "Template",
    "TemplateBakeFailed",
    "TemplateHandle",
    "TemplateStatus",
    "TemplateWaitTimeout",
    "TransportError",
    "UnitTestReward",
    "__version__",
    "connect",
    "connect_async",
    "extract_code",
    "fresh_seed",
    "grade",
    "grade_batch",
    "group_seeds",
    "is_valid_seed",
    "open_session",
    "reward_spec_from_ground_truth",
    "rollout_once",
    "seed_from_key",
]
