// SPDX-License-Identifier: Apache-2.0

package session

import (
	"github.com/spf13/cobra"
	"varve.dev/zarr/cmd/varve/internal/flagtext"
)

// Flags defines the flags that all commands share.
func Flags(root *cobra.Command) {
	f := root.PersistentFlags()
	f.Bool("json", false, "print one JSON document instead of text, also for failures")
	experimentalVar(f)
	missingVar(f)
	lanVar(f)
	serverVar(f)
	lockVar(f)
	limitVar(f)
	absentVar(f)
	flagtext.Propose(root, ExperimentalFlag, ExperimentNames()...)
	flagtext.Propose(root, absentFlag, absentFill, absentError)
	flagtext.Propose(root, missingFlag, "403")
}

// Begin prepares a command before it runs: it sets up locks, web servers, remarks and the
// counter in the context. It returns the arguments without secrets.
func Begin(cmd *cobra.Command, args []string) []string {
	args = remoteArguments(cmd, args)
	awaitLocks(cmd)
	Watch(cmd)
	withRemarks(cmd)
	return args
}
