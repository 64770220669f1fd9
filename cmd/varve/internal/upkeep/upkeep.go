// SPDX-License-Identifier: Apache-2.0

// Package upkeep has the commands that look after repositories of Icechunk: gc, expire,
// check and stats of varve icechunk.
package upkeep

import (
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	"varve.dev/zarr/cmd/varve/internal/failure"
	"varve.dev/zarr/cmd/varve/internal/flagtext"
	"varve.dev/zarr/cmd/varve/internal/node"
	"varve.dev/zarr/cmd/varve/internal/phrase"
	"varve.dev/zarr/cmd/varve/internal/place"
	"varve.dev/zarr/cmd/varve/internal/progress"
	"varve.dev/zarr/cmd/varve/internal/session"
	"varve.dev/zarr/cmd/varve/internal/usage"
	"varve.dev/zarr/icechunk"
	"varve.dev/zarr/store"
)

// Commands returns the commands.
func Commands() []*cobra.Command {
	return []*cobra.Command{newGarbage(), newExpire(), newCheck(), newStats()}
}

// on opens the repository that an argument names, and calls do.
func on(cmd *cobra.Command, argument string, access store.Access, do func(r *icechunk.Repository, shown string) error) error {
	location, at, path, err := icechunk.ParseLocation(argument)
	if err != nil {
		return err
	}
	if at != "" || path != "" {
		return failure.BadArgument("%s %s is about the whole repository: leave out @ and what follows it", cmd.Name(), argument)
	}
	shown := session.WithoutSecrets(location)
	s, root, err := store.OpenPlain(cmd.Context(), location, access)
	if err != nil {
		return failure.On(cmd.Name(), shown, node.RepositoryMeant(cmd.Context(), location, err))
	}
	r, err := icechunk.Open(cmd.Context(), s, root, &icechunk.Options{Location: location})
	if err != nil {
		return failure.On(cmd.Name(), shown, errors.Join(err, store.Close(s)))
	}
	err = do(r, shown)
	return errors.Join(err, failure.On(cmd.Name(), shown, r.Close()))
}

// line is a line of progress of objects that are visited, step by step.
type line struct {
	cmd  *cobra.Command
	what string
	last *progress.Line
}

// show is the progress of the package icechunk.
func (l *line) show(what string, done int64) {
	if what != l.what {
		l.end()
		l.what, l.last = what, progress.NewCount(l.cmd, what, 0)
	}
	l.last.Reach(done, 0)
}

func (l *line) end() {
	if l.last != nil {
		l.last.End()
	}
}

// garbage is the command gc.
type garbage struct {
	opt icechunk.GarbageOptions
	yes bool
}

func newGarbage() *cobra.Command {
	c := &cobra.Command{
		Use:   "gc REPOSITORY",
		Short: "Delete what no branch and no tag leads to, and what is a week old",
		Long: `Delete the snapshots, manifests, transaction logs and chunks of a repository of Icechunk to which no
branch and no tag leads, and that were stored a week ago or before. On a terminal it asks first;
elsewhere it needs --yes.

The clock is that of the store. A session that began before the time that --older-than says cannot
commit afterwards: choose more than any session lasts. Nothing is deleted if something live cannot
be read. With --for it stops after that time, and the next gc goes on.`,
		Example: `  varve icechunk gc s3://bucket/era5 --dry-run
  varve icechunk gc s3://bucket/era5 --for 10m --yes`,
		Args: usage.Arguments("REPOSITORY"),
	}
	g := new(garbage)
	f := c.Flags()
	flagtext.Duration(f, &g.opt.OlderThan, "older-than", icechunk.DefaultAge, "delete what is older than this `TIME`, such as 12h or 30d")
	flagtext.Duration(f, &g.opt.For, "for", 0, "stop after this `TIME`, such as 10m (default: when all is deleted)")
	f.BoolVar(&g.opt.DryRun, "dry-run", false, "delete nothing, and count what would be deleted, by the clock of this machine")
	f.BoolVar(&g.yes, "yes", false, "do not ask")
	c.RunE = func(cmd *cobra.Command, args []string) error {
		access := store.ReadWrite
		if g.opt.DryRun {
			access = store.ReadOnly
		}
		return on(cmd, args[0], access, func(r *icechunk.Repository, shown string) error { return g.run(cmd, r, shown) })
	}
	return c
}

func (g *garbage) run(cmd *cobra.Command, r *icechunk.Repository, shown string) error {
	if g.opt.OlderThan == 0 {
		g.opt.OlderThan = -1 // as the library says it
	}
	if !g.opt.DryRun && !g.yes {
		if err := place.Confirm(cmd, fmt.Sprintf("deletes what no branch and no tag of %s leads to", shown)); err != nil {
			return err
		}
	}
	p := &line{cmd: cmd}
	g.opt.Progress = p.show
	report, err := r.CollectGarbage(cmd.Context(), &g.opt)
	p.end()
	if err != nil {
		return failure.On("gc", shown, err)
	}
	type deleted struct {
		Objects int64 `json:"objects"`
		Bytes   int64 `json:"bytes"`
	}
	done, kinds, all := "deleted", map[string]deleted{}, icechunk.Deleted{}
	if g.opt.DryRun {
		done = "to delete"
	}
	var lines []string
	for _, k := range []struct {
		name string
		icechunk.Deleted
	}{{"snapshot", report.Snapshots}, {"transaction log", report.Transactions}, {"manifest", report.Manifests}, {"chunk", report.Chunks}} {
		kinds[k.name+"s"] = deleted(k.Deleted)
		all = icechunk.Deleted{Objects: all.Objects + k.Objects, Bytes: all.Bytes + k.Bytes}
		if k.Objects > 0 {
			lines = append(lines, fmt.Sprintf("  %s, %s", phrase.Plural(k.Objects, k.name), phrase.Bytes(k.Bytes)))
		}
	}
	lines = append([]string{fmt.Sprintf("%s  %s %s, %s", phrase.Printable(shown), phrase.Plural(all.Objects, "object"), done, phrase.Bytes(all.Bytes))}, lines...)
	for _, k := range []struct {
		n    int64
		what string
	}{{report.Young, "younger than --older-than"}, {report.Timeless, "whose age the store does not tell"}, {report.Foreign, "that Icechunk does not know"}} {
		if k.n > 0 {
			lines = append(lines, fmt.Sprintf("  kept: %s %s", phrase.Plural(k.n, "value"), k.what))
		}
	}
	if report.Stopped {
		lines = append(lines, "  the time is over: repeat the command to go on")
	}
	return session.PrintLines(cmd, map[string]any{
		"repository": shown, "dry_run": g.opt.DryRun, "cutoff": report.Cutoff.UTC(), "stopped": report.Stopped, "snapshots_released": report.Released,
		"deleted": kinds, "bytes_freed": all.Bytes, "young": report.Young, "timeless": report.Timeless, "foreign": report.Foreign,
	}, lines...)
}

// expiry is the command expire.
type expiry struct {
	opt       icechunk.ExpiryOptions
	olderThan time.Duration
	before    string
	yes       bool
}

func newExpire() *cobra.Command {
	c := &cobra.Command{
		Use:   "expire REPOSITORY",
		Short: "Take old commits out of the history",
		Long: `Take the commits before a time out of the history of a repository of Icechunk. What branches and tags
lead to stays, and the first snapshot. varve icechunk gc deletes what only expired commits have.
On a terminal it asks first; elsewhere it needs --yes.`,
		Example: `  varve icechunk expire s3://bucket/era5 --older-than 90d --dry-run
  varve icechunk expire s3://bucket/era5 --before 2026-01-01 --yes`,
		Args: usage.Arguments("REPOSITORY"),
	}
	e := new(expiry)
	f := c.Flags()
	flagtext.Duration(f, &e.olderThan, "older-than", 0, "expire commits that are older than this `TIME`, such as 90d")
	flagtext.Var(f, &e.before, "before", "", "expire commits before this `DATE`, such as 2026-01-01 or 2026-01-01T12:00:00Z", flagtext.Syntax(parseTime))
	f.BoolVar(&e.opt.Branches, "delete-branches", false, "delete the branches that lead to an expired commit, except main")
	f.BoolVar(&e.opt.Tags, "delete-tags", false, "delete the tags that lead to an expired commit; their names are never used again")
	f.BoolVar(&e.opt.DryRun, "dry-run", false, "change nothing, and say what would expire")
	f.BoolVar(&e.yes, "yes", false, "do not ask")
	c.RunE = func(cmd *cobra.Command, args []string) error {
		access := store.ReadWrite
		if e.opt.DryRun {
			access = store.ReadOnly
		}
		before, err := e.time(cmd)
		if err != nil {
			return err
		}
		return on(cmd, args[0], access, func(r *icechunk.Repository, shown string) error { return e.run(cmd, r, shown, before) })
	}
	return c
}

// parseTime parses a time, or the start of a day in UTC.
func parseTime(text string) (t time.Time, err error) {
	for _, form := range []string{time.RFC3339, "2006-01-02T15:04", time.DateOnly} {
		if t, err = time.Parse(form, text); err == nil {
			return t, nil
		}
	}
	return t, fmt.Errorf("%q is no time such as 2026-01-01 or 2026-01-01T12:00:00Z", text)
}

// time returns the time before which commits expire.
func (e *expiry) time(cmd *cobra.Command) (time.Time, error) {
	if err := flagtext.Exclusive(cmd, "older-than", "before"); err != nil {
		return time.Time{}, err
	}
	if e.before != "" {
		return parseTime(e.before)
	}
	if !cmd.Flags().Changed("older-than") {
		return time.Time{}, failure.BadUsage("expire needs --older-than or --before")
	}
	return time.Now().Add(-e.olderThan), nil
}

func (e *expiry) run(cmd *cobra.Command, r *icechunk.Repository, shown string, before time.Time) error {
	expire := func(dry bool) (*icechunk.ExpiryReport, error) {
		opt := e.opt
		opt.DryRun = dry
		report, err := r.Expire(cmd.Context(), before, &opt)
		return report, failure.On("expire", shown, err)
	}
	report, err := expire(true)
	if err != nil {
		return err
	}
	if !e.opt.DryRun && len(report.Snapshots)+len(report.Branches)+len(report.Tags) > 0 {
		if !e.yes {
			what := fmt.Sprintf("takes %s out of the history of %s", phrase.Plural(int64(len(report.Snapshots)), "commit"), shown)
			if err := place.Confirm(cmd, what); err != nil {
				return err
			}
		}
		if report, err = expire(false); err != nil {
			return err
		}
	}
	ids, done, gone := []string{}, "expired", "deleted"
	if e.opt.DryRun {
		done, gone = "would expire", "would be deleted"
	}
	for _, id := range report.Snapshots {
		ids = append(ids, id.String())
	}
	lines := []string{fmt.Sprintf("%s  commits before %s: %s %s", phrase.Printable(shown), before.UTC().Format(time.DateTime), phrase.Count(int64(len(ids))), done)}
	for _, k := range []struct {
		kind  string
		names []string
	}{{"branch", report.Branches}, {"tag", report.Tags}} {
		for _, name := range k.names {
			lines = append(lines, fmt.Sprintf("  %s %s %s", k.kind, phrase.Printable(name), gone))
		}
	}
	return session.PrintLines(cmd, map[string]any{
		"repository": shown, "dry_run": e.opt.DryRun, "before": before.UTC(), "snapshots": ids, "edited": report.Edited,
		"branches": append([]string{}, report.Branches...), "tags": append([]string{}, report.Tags...),
	}, lines...)
}
