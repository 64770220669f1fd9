// SPDX-License-Identifier: Apache-2.0

// Package upkeep has the commands that look after repositories of Icechunk: gc, expire,
// check and stats of varve icechunk.
package upkeep

import (
	"context"
	"errors"
	"fmt"
	"sort"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"varve.dev/zarr"
	"varve.dev/zarr/cmd/varve/internal/failure"
	"varve.dev/zarr/cmd/varve/internal/flagtext"
	"varve.dev/zarr/cmd/varve/internal/node"
	"varve.dev/zarr/cmd/varve/internal/phrase"
	"varve.dev/zarr/cmd/varve/internal/place"
	"varve.dev/zarr/cmd/varve/internal/progress"
	"varve.dev/zarr/cmd/varve/internal/session"
	"varve.dev/zarr/cmd/varve/internal/usage"
	"varve.dev/zarr/icechunk"
	"varve.dev/zarr/internal/leftover"
	"varve.dev/zarr/store"
)

// Commands returns the commands.
func Commands() []*cobra.Command {
	return []*cobra.Command{newGarbage(), newExpire(), newCheck(), newStats()}
}

// temporary counts the temporary files in the folder of a repository, by name.
func temporary(ctx context.Context, r *node.Repository) (files map[string]leftover.File, all icechunk.Deleted, err error) {
	files = map[string]leftover.File{}
	for f, err := range leftover.All(ctx, r.Store, r.Root) {
		if err != nil {
			return nil, all, err
		}
		files[f.Name] = f
		all = icechunk.Deleted{Objects: all.Objects + 1, Bytes: all.Bytes + f.Size}
	}
	return files, all, nil
}

// withCheck adds to an error about damage the state of the command, and the command that
// says what is affected.
func withCheck(err error, shown, state string) error {
	if !errors.Is(err, zarr.ErrCorrupt) {
		return err
	}
	return failure.Leftover(err, "%svarve icechunk check %s says what is affected", state, phrase.Word(shown))
}

// on opens the repository that an argument names, and calls do.
func on(cmd *cobra.Command, argument string, access store.Access, do func(r *node.Repository, shown string) error) error {
	location, at, path, err := icechunk.ParseLocation(argument)
	if err != nil {
		return err
	}
	if at != "" || path != "" {
		return failure.BadArgument("leave out @ and what follows it: the command is about the whole repository")
	}
	shown := session.WithoutSecrets(location)
	r, err := node.OpenRepository(cmd.Context(), location, access)
	if err != nil {
		return failure.On(cmd.Name(), shown, err)
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
be read. With --for it stops after that time, and the next gc goes on: what is live, it has stored
below overwritten/.`,
		Example: `  varve icechunk gc s3://bucket/era5 --dry-run
  varve icechunk gc s3://bucket/era5 --for 10m --yes`,
		Args: usage.Arguments("REPOSITORY"),
	}
	g := new(garbage)
	f := c.Flags()
	flagtext.Duration(f, &g.opt.OlderThan, "older-than", icechunk.DefaultAge, "delete what is older than this `TIME`, such as 12h or 30d")
	flagtext.Duration(f, &g.opt.For, "for", 0, "stop after this `TIME`, such as 10m (default: when all is deleted)")
	f.IntVar(&g.opt.Backups, "backups", 0, "also delete old copies of the object repo, but not the latest `N`, in which check finds overwritten commits (default: keep all)")
	f.BoolVar(&g.opt.DryRun, "dry-run", false, "delete nothing, and count what would be deleted, by the clock of this machine")
	f.BoolVar(&g.yes, "yes", false, "do not ask")
	c.RunE = func(cmd *cobra.Command, args []string) error {
		if g.opt.Backups < 1 && cmd.Flags().Changed("backups") {
			return failure.BadUsage("--backups is the number of copies to keep: give 1 or more")
		}
		access := store.ReadWrite
		if g.opt.DryRun {
			access = store.ReadOnly
		}
		return on(cmd, args[0], access, func(r *node.Repository, shown string) error { return g.run(cmd, r, shown) })
	}
	return c
}

func (g *garbage) run(cmd *cobra.Command, r *node.Repository, shown string) error {
	if g.opt.OlderThan == 0 {
		g.opt.OlderThan = -1 // as the library says it
	}
	if !g.opt.DryRun && !g.yes {
		if err := place.Confirm(cmd, fmt.Sprintf("deletes what no branch and no tag of %s leads to", shown)); err != nil {
			return err
		}
	}
	before, _, err := temporary(cmd.Context(), r)
	if err != nil {
		return failure.On("gc", shown, err)
	}
	p := &line{cmd: cmd}
	g.opt.Progress = p.show
	report, err := r.CollectGarbage(cmd.Context(), &g.opt)
	p.end()
	if err != nil {
		n := report.Snapshots.Objects + report.Transactions.Objects + report.Manifests.Objects + report.Chunks.Objects + report.Backups.Objects + report.Records.Objects
		state := "nothing was deleted; "
		if n > 0 {
			state = phrase.Plural(n, "object") + " deleted before; "
		}
		return withCheck(failure.On("gc", shown, err), shown, state)
	}
	left, err := g.temporary(cmd.Context(), r, before, report.Cutoff)
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
	}{{"snapshot", report.Snapshots}, {"transaction log", report.Transactions}, {"manifest", report.Manifests}, {"chunk", report.Chunks}, {"backup", report.Backups}, {"record", report.Records}, {"temporary file", left}} {
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
			lines = append(lines, fmt.Sprintf("  kept: %s %s", phrase.Plural(k.n, "object"), k.what))
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

// temporary counts the temporary files that were there before, and that a collection has
// deleted or would delete.
func (g *garbage) temporary(ctx context.Context, r *node.Repository, before map[string]leftover.File, cutoff time.Time) (gone icechunk.Deleted, err error) {
	after, _, err := temporary(ctx, r)
	for name, f := range before {
		_, stays := after[name]
		if g.opt.DryRun {
			stays = !f.Left && !f.Modified.Before(cutoff)
		}
		if !stays {
			gone = icechunk.Deleted{Objects: gone.Objects + 1, Bytes: gone.Bytes + f.Size}
		}
	}
	return gone, err
}

// expiry is the command expire.
type expiry struct {
	opt       icechunk.ExpiryOptions
	olderThan time.Duration
	before    string
	yes       bool
}

// expired is a commit that is taken out of the history.
type expired struct {
	Snapshot string    `json:"snapshot"`
	Time     time.Time `json:"time"`
	Message  string    `json:"message"`
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
	flagtext.Var(f, &e.before, "before", "", "expire commits before this `DATE`, such as 2026-01-01 or 2026-01-01T12:00:00Z", flagtext.Syntax(node.ParseTime))
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
		return on(cmd, args[0], access, func(r *node.Repository, shown string) error { return e.run(cmd, r, shown, before) })
	}
	return c
}

// time returns the time before which commits expire.
func (e *expiry) time(cmd *cobra.Command) (time.Time, error) {
	if err := flagtext.Exclusive(cmd, "older-than", "before"); err != nil {
		return time.Time{}, err
	}
	if e.before != "" {
		return node.ParseTime(e.before)
	}
	if !cmd.Flags().Changed("older-than") {
		return time.Time{}, failure.BadUsage("expire needs --older-than or --before")
	}
	return time.Now().Add(-e.olderThan), nil
}

func (e *expiry) run(cmd *cobra.Command, r *node.Repository, shown string, before time.Time) error {
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
	ids, commits, done, gone := []string{}, []expired{}, "expired", "deleted"
	if e.opt.DryRun {
		done, gone = "would expire", "would be deleted"
	}
	for _, c := range report.Commits {
		ids = append(ids, c.ID.String())
		commits = append(commits, expired{c.ID.String(), c.Time.UTC(), c.Message})
	}
	sort.Slice(commits, func(i, j int) bool { return commits[i].Time.After(commits[j].Time) })
	lines := []string{fmt.Sprintf("%s  commits before %s: %s %s", phrase.Printable(shown), before.UTC().Format(time.DateTime), phrase.Count(int64(len(ids))), done)}
	for i, c := range commits {
		if i == session.MostShown {
			lines = append(lines, fmt.Sprintf("  and %s (--json lists all)", phrase.Plural(int64(len(commits)-i), "more commit")))
			break
		}
		first, _, _ := strings.Cut(c.Message, "\n")
		lines = append(lines, fmt.Sprintf("  %s  %s  %s", c.Snapshot, c.Time.Format(time.RFC3339), phrase.Printable(first)))
	}
	for _, k := range []struct {
		kind  string
		names []string
	}{{"branch", report.Branches}, {"tag", report.Tags}} {
		for _, name := range k.names {
			lines = append(lines, fmt.Sprintf("  %s %s %s", k.kind, phrase.Printable(name), gone))
		}
	}
	return session.PrintLines(cmd, map[string]any{
		"repository": shown, "dry_run": e.opt.DryRun, "before": before.UTC(), "snapshots": ids, "commits": commits, "edited": report.Edited,
		"branches": append([]string{}, report.Branches...), "tags": append([]string{}, report.Tags...),
	}, lines...)
}
