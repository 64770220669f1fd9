// SPDX-License-Identifier: Apache-2.0

package copying

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"varve.dev/zarr"
	"varve.dev/zarr/cmd/varve/internal/cost"
	"varve.dev/zarr/cmd/varve/internal/dryrun"
	"varve.dev/zarr/cmd/varve/internal/failure"
	"varve.dev/zarr/cmd/varve/internal/flagtext"
	"varve.dev/zarr/cmd/varve/internal/node"
	"varve.dev/zarr/cmd/varve/internal/phrase"
	"varve.dev/zarr/cmd/varve/internal/place"
	"varve.dev/zarr/cmd/varve/internal/planfile"
	"varve.dev/zarr/cmd/varve/internal/progress"
	"varve.dev/zarr/cmd/varve/internal/session"
	"varve.dev/zarr/internal/job"
	"varve.dev/zarr/internal/own"
	"varve.dev/zarr/store"
	"varve.dev/zarr/transfer"
)

// syncFlags are the flags of varve copy --sync.
type syncFlags struct {
	on         bool
	planTo     string
	pricesFrom string
	opt        transfer.SyncOptions
	newer      string
}

func (s *syncFlags) define(f *pflag.FlagSet) {
	f.BoolVar(&s.on, "sync", false, "make DST, which may exist, equal to SRC, and copy only what differs")
	f.AddFlagSet(s.needing())
}

// needing returns the flags that need --sync.
func (s *syncFlags) needing() *pflag.FlagSet {
	f := pflag.NewFlagSet("", pflag.ContinueOnError)
	f.BoolVar(&s.opt.Delete, "delete", false, "with --sync, delete nodes below DST that SRC does not have, and chunks that no document describes; needs --yes where it cannot ask")
	f.BoolVar(&s.opt.Checksum, "checksum", false, "with --sync, compare the bytes of values of the same size, not their times, as is always done in repositories of Icechunk")
	f.BoolVar(&s.opt.Verify, "verify", false, "with --sync, compare the bytes of all values at the end")
	flagtext.Var(f, &s.opt.Nodes, "node", "", "with --sync, only nodes whose path below SRC matches the `PATTERN`, such as t2m or '*/time', and what is below them", flagtext.Needed("a pattern of paths"))
	flagtext.Var(f, &s.newer, "newer-than", "", "with --sync, take values written before `TIME` for equal to those of the same size; a date, a time as in RFC 3339, or a duration before now, such as 36h or 7d",
		flagtext.Syntax(parseSince))
	return f
}

// parseSince returns the time that a text means: a date, a time, or a duration before
// now.
func parseSince(text string) (time.Time, error) {
	if d, err := flagtext.ParseDuration(text); err == nil {
		return time.Now().Add(-d), nil
	}
	for _, form := range []string{time.RFC3339, time.DateOnly} {
		if at, err := time.Parse(form, text); err == nil {
			return at, nil
		}
	}
	return time.Time{}, fmt.Errorf("%q is not a date such as 2026-11-26, a time such as 2026-11-26T12:00:00Z, or a duration such as 36h or 7d", text)
}

// check returns an error for flags that contradict each other.
func (s *syncFlags) check(cmd *cobra.Command, to string) error {
	if s.planTo != "" && !s.on {
		return failure.BadUsage("--plan needs --sync, which also makes a new DST")
	}
	if s.pricesFrom != "" && !s.on {
		return failure.BadUsage("--prices needs --sync, with --dry-run or --plan")
	}
	if !s.on {
		var err error
		new(syncFlags).needing().VisitAll(func(f *pflag.Flag) {
			if err == nil && cmd.Flags().Changed(f.Name) {
				err = failure.BadUsage("--%s needs --sync", f.Name)
			}
		})
		return err
	}
	if err := flagtext.Exclusive(cmd, "sync", "overwrite"); err != nil {
		return err
	}
	if err := flagtext.Exclusive(cmd, "sync", "move"); err != nil {
		return err
	}
	if err := flagtext.Exclusive(cmd, "node", "delete"); err != nil {
		return err
	}
	if own.IsArchive(node.LocalPath(to)) {
		return failure.BadUsage("--sync cannot change an archive; varve copy SRC DST makes a new one")
	}
	return nil
}

// sync runs varve copy --sync.
func (f *copyFlags) sync(cmd *cobra.Command, from, to string) (err error) {
	defer func() { err = failure.InOperation(cmd.Name(), withoutArray(cmd, from, to, err)) }()
	ctx := cmd.Context()
	src, err := place.Locate(ctx, from, store.ReadOnly)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, place.Close(src, true)) }()
	f.dry = f.dry || f.synced.planTo != ""
	opt := f.synced.opt
	opt.Options, opt.DryRun = *session.Writing(cmd), f.dry
	opt.SingleWriter = *f.singleWriter
	if f.synced.newer != "" {
		opt.NewerThan, _ = parseSince(f.synced.newer) // checked with the flags
	}
	if err := f.mayDelete(cmd, src, to, opt); err != nil {
		return place.Named(cmd.Name(), from, src, err)
	}
	r, err := f.syncTo(cmd, src, from, to, &opt)
	// Say what was done even if some nodes of SRC cannot be read.
	damage := err
	if !failure.IsDamage(err) || f.synced.planTo != "" {
		damage = nil
	}
	if err != damage {
		return err
	}
	s := newSynced(from, to, &opt, r)
	if f.dry {
		if err := s.price(cmd, f.synced.pricesFrom); err != nil {
			return err
		}
	}
	if err := f.planSync(cmd, s, &opt); err != nil {
		return err
	}
	switch {
	case session.WantsJSON(cmd) && f.dry:
		p, err := s.plan(cmd)
		return errors.Join(damage, err, session.PrintJSON(cmd, p))
	case session.WantsJSON(cmd):
		return errors.Join(damage, session.PrintJSON(cmd, s))
	}
	place.NoteFolder(cmd, to)
	return errors.Join(damage, s.print(cmd.OutOrStdout()))
}

// planSync writes a plan, if it is asked for.
func (f *copyFlags) planSync(cmd *cobra.Command, s *synced, opt *transfer.SyncOptions) error {
	if f.synced.planTo == "" {
		return nil
	}
	if len(s.ReplacedNodes) > 0 {
		return failure.BadArgument("%q has chunks of another grid than SRC, which processes cannot replace together: remove it (varve rm), or leave out --plan", "/"+s.ReplacedNodes[0])
	}
	if opt.Delete && !f.yes {
		return failure.BadUsage("--plan with --delete needs --yes: the plan deletes without asking")
	}
	p, err := s.plan(cmd)
	if err != nil {
		return err
	}
	p.Head.Stages = []dryrun.Stage{{Name: "copy", Tasks: *s.Copied + *s.Rewritten}, {Name: "publish", Tasks: 1}}
	return planfile.Write(cmd, f.synced.planTo, p.Head, s.Counts, job.NewCopy(opt))
}

// mayDelete asks before --delete deletes anything. A dry run finds out what that is.
func (f *copyFlags) mayDelete(cmd *cobra.Command, src *zarr.Location, to string, opt transfer.SyncOptions) error {
	if !opt.Delete || f.yes || f.dry {
		return nil
	}
	dst, err := place.New(cmd, to, true)
	if err != nil {
		return err
	}
	opt.DryRun, opt.Checksum, opt.Observer = true, false, nil // only what is deleted counts
	r, err := transfer.Sync(cmd.Context(), src, dst, &opt)
	if failure.IsDamage(err) {
		err = nil // the sync itself reports it
	}
	if err = errors.Join(err, place.Close(dst, true)); err != nil {
		return err
	}
	what := deletions(r)
	if what == "" {
		return nil
	}
	return place.Confirm(cmd, fmt.Sprintf("deletes %s in %s", what, to))
}

// deletions describes what --delete deletes, or returns "".
func deletions(r transfer.SyncReport) string {
	var parts []string
	if nodes := append(r.DroppedNodes[:len(r.DroppedNodes):len(r.DroppedNodes)], r.ReplacedNodes...); len(nodes) > 0 {
		parts = append(parts, dryrun.RemovedText(nodes))
	}
	if r.Dropped > 0 {
		parts = append(parts, phrase.Plural(r.Dropped, "value"))
	}
	return strings.Join(parts, " and ")
}

// syncTo opens the destination, makes it equal to the source, and closes it.
func (f *copyFlags) syncTo(cmd *cobra.Command, src *zarr.Location, from, to string, opt *transfer.SyncOptions) (transfer.SyncReport, error) {
	dst, err := place.New(cmd, to, f.dry)
	if err != nil {
		return transfer.SyncReport{}, err
	}
	p := progress.NewEstimate(cmd, "copying", 0, progress.MovedBytes)
	r, err := transfer.Sync(cmd.Context(), src, dst, opt)
	p.End()
	if err == nil {
		return r, place.Close(dst, true)
	}
	if failure.IsDamage(err) {
		return r, errors.Join(place.Named(cmd.Name(), from, src, err), place.Close(dst, true))
	}
	begun, lookErr := transfer.Unfinished(context.WithoutCancel(cmd.Context()), dst)
	err = place.Named(cmd.Name(), from, src, errors.Join(err, place.Close(dst, false)))
	if !f.dry {
		place.RemoveEmpty(to)
	}
	switch {
	case !begun || lookErr != nil || f.dry:
		return r, unread(cmd, from, err, "")
	case isUnread(err):
		return r, unread(cmd, from, err, fmt.Sprintf("; %s is not equal to SRC yet: the repeated command continues", to))
	}
	return r, failure.Leftover(err, "%s is not equal to SRC yet: repeat the command, which continues", to)
}

// synced is the result of varve copy --sync, in the form of --json. The counts have the
// names of plans.
type synced struct {
	Source      string `json:"source"`
	Destination string `json:"destination"`
	DryRun      bool   `json:"dry_run"`
	Arrays      int    `json:"arrays"`
	Groups      int    `json:"groups"`
	dryrun.Counts
	Again         int64      `json:"chunks_again"` // rewritten ones that are perhaps equal
	BytesKept     int64      `json:"bytes_kept"`
	Left          int64      `json:"chunks_left"`    // that no document describes
	LeftNodes     []string   `json:"nodes_left"`     // that SRC does not have
	ReplacedNodes []string   `json:"nodes_replaced"` // removed and copied anew
	Other         int64      `json:"values_other"`   // of SRC, not copied
	Verified      int64      `json:"values_verified"`
	BytesVerified int64      `json:"bytes_verified"`
	Cost          *cost.Cost `json:"cost,omitempty"`

	deletes bool
}

// price adds the requests that a dry run predicts, and what they cost. Listings have
// pages of 1,000 values, in both stores. A value of more than 64 MiB takes more than one
// request to read and to write.
func (s *synced) price(cmd *cobra.Command, file string) error {
	p, err := cost.ReadPrices(cmd, file)
	if p == nil || err != nil {
		return err
	}
	copied := *s.Copied + *s.Rewritten
	pages := func(n int64) int64 { return 1 + n/1000 }
	s.Requests = map[string]int64{
		"list": pages(*s.Kept+copied) + pages(*s.Kept+*s.Rewritten), "get": copied, "put": copied + *s.Documents, "head": *s.Dropped, "copy": 0,
	}
	s.Cost = p.Cost(s.Requests, *s.BytesRead)
	return nil
}

func newSynced(from, to string, opt *transfer.SyncOptions, r transfer.SyncReport) *synced {
	s := &synced{
		Source: from, Destination: to, DryRun: opt.DryRun, Arrays: r.Arrays, Groups: r.Groups,
		Counts: dryrun.Counts{
			Kept: &r.Kept, New: new(int64), Copied: &r.New, Rewritten: &r.Replaced, Dropped: new(r.Cleared + r.Dropped), Documents: &r.Documents,
			BytesRead: &r.Bytes, BytesCopied: &r.Bytes, BytesDecoded: new(int64), BytesEncoded: new(int64), BytesWritten: &r.Bytes,
		},
		Again: r.Again, BytesKept: r.KeptBytes, Left: r.Left, LeftNodes: []string{}, ReplacedNodes: append([]string{}, r.ReplacedNodes...),
		Other: r.Other, Verified: r.Verified, BytesVerified: r.VerifiedBytes, deletes: opt.Delete,
	}
	if opt.Delete {
		s.Removed = r.DroppedNodes
	} else {
		s.LeftNodes = append(s.LeftNodes, r.DroppedNodes...)
	}
	return s
}

// syncPlan is the plan of a dry run, in the form of --json.
type syncPlan struct {
	dryrun.Head
	*synced
}

func (s *synced) plan(cmd *cobra.Command) (p syncPlan, err error) {
	p.Head = dryrun.Head{Operation: cmd.Name(), Node: s.Source, Target: &s.Destination, Strategy: "copy-publish-delete", Guarantee: "atomic"}
	if len(s.ReplacedNodes) > 0 {
		p.Guarantee = "offline" // there is no array until it is copied
	}
	p.synced = s
	p.Stages = dryrun.Stages(dryrun.Stage{Name: "copy", Tasks: *s.Copied + *s.Rewritten}, dryrun.Stage{Name: "publish", Tasks: *s.Documents},
		dryrun.Stage{Name: "delete", Tasks: *s.Dropped})
	p.Fingerprint, err = dryrun.Fingerprint(p)
	return p, err
}

func (s *synced) print(w io.Writer) error {
	done := "copied"
	if s.DryRun {
		done = "to copy"
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s  %s and %s\n", phrase.Printable(s.Destination), phrase.Plural(int64(s.Arrays), "array"), phrase.Plural(int64(s.Groups), "group"))
	line := func(what, format string, args ...any) {
		fmt.Fprintf(&b, "  %-8s  %s\n", what, fmt.Sprintf(format, args...))
	}
	line(done, "%s, %s and %s: %s", phrase.Plural(*s.Copied, "new value"), phrase.Plural(*s.Rewritten-s.Again, "changed value"),
		phrase.Plural(*s.Documents, "document"), phrase.Bytes(*s.BytesCopied))
	if s.Again > 0 {
		line("again", "%s, written less than a minute before the copy", phrase.Plural(s.Again, "value"))
	}
	line("kept", "%s: %s", phrase.Plural(*s.Kept, "value"), phrase.Bytes(s.BytesKept))
	if *s.Dropped > 0 {
		line("deleted", "%s that SRC does not store", phrase.Plural(*s.Dropped, "value"))
	}
	if len(s.Removed) > 0 {
		line("deleted", "%s", dryrun.RemovedText(s.Removed))
	}
	if len(s.ReplacedNodes) > 0 {
		line("anew", "%s", dryrun.RemovedText(s.ReplacedNodes))
	}
	if s.Verified > 0 {
		line("verified", "%s: %s", phrase.Plural(s.Verified, "value"), phrase.Bytes(s.BytesVerified))
	}
	if s.DryRun {
		line("note", "dry run, nothing was changed")
	}
	if s.Cost != nil {
		line("cost", "%.4g %s (requests %.4g, bytes read %.4g)", s.Cost.Total, s.Cost.Currency, s.Cost.Requests, s.Cost.Read)
	}
	s.notes(line)
	_, err := io.WriteString(w, b.String())
	return err
}

// notes prints what differs still, and what was not copied.
func (s *synced) notes(line func(what, format string, args ...any)) {
	if s.Left > 0 {
		line("note", "%s that no document describes, at DST; --delete deletes them", phrase.Plural(s.Left, "value"))
	}
	if len(s.LeftNodes) > 0 {
		line("note", "not in SRC: %s; --delete deletes them", dryrun.RemovedText(s.LeftNodes))
	}
	if s.Other > 0 {
		line("note", "not copied: %s", otherText(s.Other))
	}
}

// PrintCopied prints what a copy has done in the end, as varve copy --sync does.
func PrintCopied(cmd *cobra.Command, plan *job.Plan, r transfer.SyncReport) error {
	var q job.Copy
	if err := json.Unmarshal(plan.Request, &q); err != nil {
		return err
	}
	s := newSynced(place.WithoutOptions(plan.Node), place.WithoutOptions(*plan.Target), q.Options(), r)
	if session.WantsJSON(cmd) {
		return session.PrintJSON(cmd, s)
	}
	return s.print(cmd.OutOrStdout())
}
