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
	hedgeVar(f)
	allowVar(f)
	lockVar(f)
	limitVar(f)
	absentVar(f)
	cacheVar(f)
	flagtext.Propose(root, ExperimentalFlag, ExperimentNames()...)
	flagtext.Propose(root, absentFlag, absentFill, absentError)
	flagtext.Propose(root, missingFlag, "403")
}

// Begin prepares a command before it runs: it sets up locks, web servers, the cache,
// remarks and the counter in the context. It returns the arguments without secrets. The
// caller calls end when the command has ended.
func Begin(cmd *cobra.Command, args []string) (shown []string, end func(), err error) {
	args = remoteArguments(cmd, args)
	awaitLocks(cmd)
	Watch(cmd)
	withRemarks(cmd)
	err = openCache(cmd)
	return args, func() { closeCache(cmd.Context()) }, err
}
