# SPDX-License-Identifier: Apache-2.0
"""What one HTTP exchange is, told without doing any: calls, answers, patience. Both faces share it."""
