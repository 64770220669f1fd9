// SPDX-License-Identifier: Apache-2.0

package main

import (
	"github.com/spf13/cobra"
	"varve.dev/zarr"
	"varve.dev/zarr/check"
	"varve.dev/zarr/cmd/varve/internal/failure"
	"varve.dev/zarr/cmd/varve/internal/node"
	"varve.dev/zarr/cmd/varve/internal/session"
	"varve.dev/zarr/store"
)

// repair does what cannot lose data, at a node and at all nodes below it: it finishes
// changes whose writers have crashed, writes documents again that other programs misread,
// updates stale consolidated metadata, and on request restores damaged indexes of shards.
func (f *checkFlags) repair(cmd *cobra.Command, location string, shards bool) error {
	at, err := zarr.Locate(cmd.Context(), location, store.Write)
	if err != nil {
		// A store that can only be read is checked as it is. Each repair says so.
		if at, err = zarr.Locate(cmd.Context(), location, store.Read); err != nil {
			return err
		}
	}
	defer node.Close(at)
	done, err := check.Repair(cmd.Context(), at, &check.RepairOptions{Open: session.Reading(cmd), Shards: shards})
	f.unproven = map[string]string{}
	for _, r := range done {
		// What cannot be repaired stays a finding of the check.
		if r.Err != nil {
			session.Note(cmd, location, failure.OneLine(r.Err))
			if r.Key != "" {
				f.unproven[r.Key] = failure.OneLine(r.Err)
			}
		} else {
			session.Confirm(cmd, "%s: %s", pathBelow(location, r.Path), r.Message)
		}
	}
	return err
}
