// SPDX-License-Identifier: Apache-2.0

// Package session holds the state of one run of the command: the flags that all
// commands share, and the options and output derived from them.
//
// [Reading] and [Writing] return the options for nodes. [WantsJSON], [PrintJSON], [Note]
// and [Confirm] choose between text for people and JSON for programs. The context of the
// command holds the counter of --stats and the ledger of --dry-run.
package session
