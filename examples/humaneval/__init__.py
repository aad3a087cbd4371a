# SPDX-License-Identifier: Apache-2.0
"""HumanEval problems, candidate solutions made by mutation, and the programs that grade them in a sandbox."""
