// SPDX-License-Identifier: Apache-2.0

package session

import (
	"cmp"
	"context"

	"github.com/spf13/cobra"
	"varve.dev/zarr"
	"varve.dev/zarr/internal/rehearsal"
	"varve.dev/zarr/observe"
	"varve.dev/zarr/store"
)

// rehearsalKey is the context key of a dry run.
type rehearsalKey struct{}

// Rehearsal is a dry run: the command runs as usual, but a ledger records its changes
// instead of the store.
type Rehearsal struct {
	Ledger  rehearsal.Ledger
	Counter *observe.Counter
	Place   string   // the store that changes, "" before it is known
	Removed []string // nodes that the command would remove
}

// LedgerOf returns the ledger of a dry run, or nil.
func LedgerOf(ctx context.Context) *rehearsal.Ledger {
	if d := RehearsalOf(ctx); d != nil {
		return &d.Ledger
	}
	return nil
}

// RehearsalOf returns the dry run of a command, or nil.
func RehearsalOf(ctx context.Context) *Rehearsal {
	d, _ := ctx.Value(rehearsalKey{}).(*Rehearsal)
	return d
}

// Rehearse returns a context that makes a command a dry run, and the dry run. The counter
// is the one of --stats or of the line of progress if there is one.
func Rehearse(ctx context.Context) (context.Context, *Rehearsal) {
	r := &Rehearsal{Counter: cmp.Or(counterOf(ctx), watchedBy(ctx), new(observe.Counter))}
	ctx = context.WithValue(ctx, counterKey{}, (*observe.Counter)(nil)) // the plan has its counts
	return context.WithValue(ctx, rehearsalKey{}, r), r
}

// IsDryRun reports whether a command is a dry run.
func IsDryRun(cmd *cobra.Command) bool { return LedgerOf(cmd.Context()) != nil }

// RehearseIn records the store that a dry run would change.
func RehearseIn(cmd *cobra.Command, at *zarr.Location) {
	if d := RehearsalOf(cmd.Context()); d != nil {
		d.Place = store.PlaceOf(at.Store())
	}
}
