// SPDX-License-Identifier: Apache-2.0

// Package dryrun runs a command without changing a store, and prints the plan: what the
// command would write, delete and read.
package dryrun
