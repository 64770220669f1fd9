// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"fmt"

	"github.com/spf13/cobra"
	"varve.dev/zarr"
	"varve.dev/zarr/check"
	"varve.dev/zarr/cmd/varve/internal/failure"
	"varve.dev/zarr/cmd/varve/internal/node"
	"varve.dev/zarr/cmd/varve/internal/output"
	"varve.dev/zarr/cmd/varve/internal/phrase"
	"varve.dev/zarr/cmd/varve/internal/session"
	"varve.dev/zarr/store"
)

// repair does what cannot lose data, at a node and at all nodes below it: it finishes
// changes whose writers have crashed, writes documents again that other programs misread,
// updates stale consolidated metadata, and on request restores damaged indexes of shards.
func (f *checkFlags) repair(cmd *cobra.Command, location string, shards bool) error {
	at, err := zarr.Locate(cmd.Context(), location, store.ReadWrite)
	if err != nil {
		// A store that can only be read is checked as it is. Each repair says so.
		if at, err = zarr.Locate(cmd.Context(), location, store.ReadOnly); err != nil {
			return err
		}
	}
	defer node.Close(at)
	done, err := check.Repair(cmd.Context(), at, &check.RepairOptions{Open: session.Reading(cmd), Shards: shards})
	f.unproven = map[string]string{}
	f.repaired = []repairFact{} // programs read a list, never null
	for _, r := range done {
		// What cannot be repaired stays a finding of the check.
		if r.Err != nil {
			session.Note(cmd, pathBelow(location, r.Path), failure.OneLine(r.Err))
			if r.Key != "" {
				f.unproven[r.Key] = failure.OneLine(r.Err)
			}
			continue
		}
		f.repaired = append(f.repaired, repairFact{Path: pathBelow(location, r.Path), Key: output.Present(r.Key), Chunk: r.Chunk, Message: r.Message})
	}
	return err
}

// repairFact is one thing that was repaired, in the form of --json.
type repairFact struct {
	Path    string  `json:"path"`
	Key     *string `json:"key"`   // of a shard; null for all else
	Chunk   []int64 `json:"chunk"` // null for all else
	Message string  `json:"message"`
}

// mostRepaired bounds the lines about repairs. --json has all of them.
const mostRepaired = 100

// writeRepaired writes one line for each repair, and one that counts them.
func writeRepaired(w *bufio.Writer, done []repairFact) {
	for i, r := range done {
		if i == mostRepaired {
			fmt.Fprintf(w, "… and %s more\n", phrase.Count(int64(len(done)-i)))
			break
		}
		fmt.Fprintf(w, "%s  repaired: %s\n", phrase.Printable(r.Path), phrase.Printable(r.Message))
	}
	if done != nil {
		fmt.Fprintf(w, "%s\n", phrase.Plural(int64(len(done)), "repair"))
	}
}
