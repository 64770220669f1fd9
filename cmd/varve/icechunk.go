// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"varve.dev/zarr"
	"varve.dev/zarr/cmd/varve/internal/exchange"
	"varve.dev/zarr/cmd/varve/internal/failure"
	"varve.dev/zarr/cmd/varve/internal/node"
	"varve.dev/zarr/cmd/varve/internal/output"
	"varve.dev/zarr/cmd/varve/internal/phrase"
	"varve.dev/zarr/cmd/varve/internal/place"
	"varve.dev/zarr/cmd/varve/internal/session"
	"varve.dev/zarr/cmd/varve/internal/spelling"
	"varve.dev/zarr/cmd/varve/internal/upkeep"
	"varve.dev/zarr/cmd/varve/internal/usage"
	"varve.dev/zarr/icechunk"
	"varve.dev/zarr/store"
	"varve.dev/zarr/store/memstore"
)

// icechunkFlags are the flags of varve icechunk.
type icechunkFlags struct {
	at, reset string
	remove    bool
	dry, yes  bool
	limit     int
	isLimited bool // a limit was given
	shown     string
	// trial has a copy of the object repo in memory, on which changes are tried.
	trial *icechunk.Repository
}

func newIcechunkCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "icechunk ACTION REPOSITORY [NAME]",
		Short: "Make, show, compare and look after repositories of Icechunk",
		Long: `Make a repository of Icechunk, and show and change its history, branches and tags. REPOSITORY is a folder or a URL.

  init       make an empty repository, with the branch main
  log        list the commits that lead to REPOSITORY@REF, the last one first
  branch     list the branches, or make, move or delete one
  tag        list the tags, or make or delete one; a name is never used again
  container  list the places of virtual chunks that other programs are told of, or add or delete one, such
             as s3://bucket/raw?region=us-east-1: Varve needs none, and reads only what --allow permits

Nodes are at icechunk+REPOSITORY@REF/PATH, where REF is a branch, tag:NAME, a snapshot or a time. Commands that
change one make a commit, with -m as its message. The log shows who made it if --metadata says so.
On a terminal, --delete and --reset of branches and tags ask first; elsewhere they need --yes.

If others have committed meanwhile, append, compact and others begin again after them. A command by positions
that mean other elements now is refused.`,
		Example: `  varve icechunk init file:///data/era5
  varve icechunk log icechunk+s3://bucket/era5@main
  varve icechunk tag s3://bucket/era5 v1 --at main`,
		Args:      knownAction,
		ValidArgs: []string{"init", "log", "branch", "tag", "container"},
	}
	var f icechunkFlags
	c.Flags().StringVar(&f.at, "at", "", "make the branch or tag at `REF` (default: that of REPOSITORY@REF, or main)")
	c.Flags().StringVar(&f.reset, "reset", "", "move the branch to `REF`")
	c.Flags().BoolVar(&f.remove, "delete", false, "delete the branch or tag")
	c.Flags().BoolVar(&f.dry, "dry-run", false, "change nothing, and say what would change")
	c.Flags().BoolVar(&f.yes, "yes", false, "do not ask before --delete and --reset")
	c.Flags().IntVar(&f.limit, "limit-commits", 0, "list at most `N` commits (default: all)")
	c.RunE = func(cmd *cobra.Command, args []string) error {
		err := f.run(cmd, args)
		if failure.IsUsage(err) {
			return err
		}
		return failure.On(args[0], session.WithoutSecrets(args[1]), err)
	}
	for _, action := range append(upkeep.Commands(),
		session.WithStats(exchange.NewImport()), session.WithStats(exchange.NewExport()), exchange.NewClone(), session.WithStats(exchange.NewDiff()),
	) {
		mark(action)
		c.AddCommand(action)
	}
	return c
}

// knownAction checks the arguments of varve icechunk.
func knownAction(cmd *cobra.Command, args []string) error {
	known := strings.Join(slices.Concat(cmd.ValidArgs, commandNames(cmd)), ", ")
	switch {
	case len(args) == 0:
		return fmt.Errorf("ACTION is missing: the actions are %s", known)
	case slices.Contains(cmd.ValidArgs, args[0]):
		return usage.Arguments("ACTION", "REPOSITORY", "[NAME]")(cmd, args)
	case node.IsLocation(args[0]) || strings.ContainsAny(args[0], "/."):
		return fmt.Errorf("ACTION is missing before %s: the actions are %s", session.WithoutSecrets(args[0]), known)
	}
	return fmt.Errorf("there is no action %q%s: the actions are %s", args[0], spelling.Meant(args[0], strings.Split(known, ", ")), known)
}

// run does what the first argument says.
func (f *icechunkFlags) run(cmd *cobra.Command, args []string) error {
	actions := map[string]func(*cobra.Command, *icechunk.Repository, string, []string) error{"log": f.log, "branch": f.branch, "tag": f.tag, "container": f.container}
	location, at, path, err := icechunk.ParseLocation(args[1])
	switch {
	case err != nil:
		return err
	case path != "":
		return failure.BadArgument("%s leads to a node: leave out what follows the branch", args[1])
	}
	f.isLimited, f.shown = cmd.Flags().Changed("limit-commits"), session.WithoutSecrets(location)
	if err := f.check(args[0], at, args[2:]); err != nil {
		return err
	}
	if args[0] == "init" {
		return initRepository(cmd, location)
	}
	access := store.ReadOnly
	if len(args) > 2 && !f.dry {
		access = store.ReadWrite
	}
	r, err := node.OpenRepository(cmd.Context(), location, access)
	if err != nil {
		return err
	}
	on := r.Repository
	if f.dry || (f.remove || f.reset != "") && !f.yes {
		f.trial, err = rehearsed(cmd.Context(), r)
	}
	if f.dry {
		on = f.trial
	}
	if err == nil {
		err = actions[args[0]](cmd, on, at, args[2:])
	}
	return errors.Join(err, r.Close())
}

// rehearsed returns a repository in memory with the object repo of another one. That has
// the history, the references and the configuration.
func rehearsed(ctx context.Context, r *node.Repository) (*icechunk.Repository, error) {
	const name = "repo"
	data, _, err := r.Store.Get(ctx, r.Root.MustKey(name), store.Request{}, nil)
	if err != nil {
		return nil, err
	}
	m := memstore.New()
	if _, err := store.Write(ctx, m, store.Put(store.MustKey(name), data), store.Sync); err != nil {
		return nil, err
	}
	return icechunk.Open(ctx, m, store.Path{}, nil)
}

// check returns an error for what the action would ignore. at is what follows @ in
// REPOSITORY.
func (f *icechunkFlags) check(action, at string, names []string) error {
	named := len(names) > 0
	switch {
	case f.dry && !named:
		return failure.BadUsage("--dry-run is for a change of a branch, a tag or a container: give its NAME")
	case f.yes && (action != "branch" && action != "tag" || !f.remove && f.reset == ""):
		return failure.BadUsage("--yes is for --delete and --reset of a branch or tag")
	case action == "init" && named:
		return failure.BadArgument("init takes a repository alone, and makes the branch main")
	case action == "log" && named:
		return failure.BadArgument("log takes a repository: give the branch as icechunk+REPOSITORY@%s", names[0])
	case action == "init" && at != "":
		return failure.BadArgument("init makes a repository with the branch main: leave out @%s", at)
	case action != "log" && f.isLimited:
		return failure.BadUsage("--limit-commits is for log")
	case f.isLimited && f.limit < 1:
		return failure.BadUsage("--limit-commits is the number of commits to list: give 1 or more")
	case f.at == "" && f.reset == "" && !f.remove:
		if action != "log" && at != "" && !named {
			return failure.BadArgument("%s lists those of the whole repository: leave out @%s", action, at)
		}
		return nil
	case action == "init" || action == "log" || action == "container" && !f.remove:
		return failure.BadUsage("--at, --reset and --delete are for branch and tag")
	case !named:
		return failure.BadArgument("--at, --reset and --delete need the NAME of a branch or tag")
	case action == "container" && f.at+f.reset != "":
		return failure.BadUsage("--at and --reset are for branch and tag")
	case action == "tag" && f.reset != "":
		return failure.BadArgument("a tag never changes: make another one")
	case f.at != "" && at != "":
		return failure.BadArgument("both @%s and --at say where the %s is made: give one of them", at, action)
	case f.at != "" && (f.reset != "" || f.remove), f.reset != "" && f.remove:
		return failure.BadUsage("--at makes, --reset moves and --delete deletes: give one of them")
	case at != "":
		return failure.BadArgument("@%s says where a new %s is made: leave it out with --reset and --delete", at, action)
	}
	return nil
}

func initRepository(cmd *cobra.Command, location string) error {
	if err := exchange.CheckPlace(cmd, location); err != nil {
		return err
	}
	s, root, err := store.OpenPlain(cmd.Context(), location, store.Create)
	if err != nil {
		return err
	}
	r, err := icechunk.Create(cmd.Context(), s, root, nil)
	if err != nil {
		return errors.Join(err, store.Close(s))
	}
	return errors.Join(session.PrintLines(cmd, map[string]any{"repository": session.WithoutSecrets(location), "branch": "main"},
		phrase.Printable(session.WithoutSecrets(location))+"  an empty repository, with the branch main"), r.Close())
}

// loggedCommit is a commit in JSON.
type loggedCommit struct {
	Snapshot string         `json:"snapshot"`
	Time     time.Time      `json:"time"`
	Message  string         `json:"message"`
	Metadata map[string]any `json:"metadata,omitempty"`
}

// metadataText returns the metadata of a commit for one line, without what the reference
// keeps for itself.
func metadataText(metadata map[string]any) string {
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(metadata)) {
		if strings.HasPrefix(name, "__icechunk") {
			continue
		}
		value, isText := metadata[name].(string)
		if !isText {
			text, _ := json.Marshal(metadata[name]) // a number that JSON lacks is left out
			value = string(text)
		}
		fmt.Fprintf(&b, "  %s=%s", phrase.Printable(name), phrase.Printable(value))
	}
	return b.String()
}

func (f *icechunkFlags) log(cmd *cobra.Command, r *icechunk.Repository, at string, _ []string) error {
	list, lines := []loggedCommit{}, []string(nil)
	for c, err := range r.Log(cmd.Context(), at) {
		if err != nil {
			return err
		}
		if f.limit > 0 && len(list) == f.limit {
			break
		}
		metadata, err := c.Metadata()
		if err != nil {
			return err
		}
		list = append(list, loggedCommit{c.ID.String(), c.Time, c.Message, metadata})
		first, _, _ := strings.Cut(c.Message, "\n")
		lines = append(lines, fmt.Sprintf("%v  %s  %s%s", c.ID, c.Time.UTC().Format("2006-01-02T15:04:05.000000Z"), phrase.Printable(first), metadataText(metadata)))
	}
	return session.PrintLines(cmd, map[string]any{"commits": list}, lines...)
}

func (f *icechunkFlags) branch(cmd *cobra.Command, r *icechunk.Repository, at string, names []string) error {
	ctx := cmd.Context()
	if len(names) == 0 {
		return f.list(cmd, "branches", r.Branches)
	}
	switch name := names[0]; {
	case f.remove:
		return f.moved(cmd, r, "branch", name, "deleted", "--at", "deletes the branch "+name+" of "+f.shown, func(r *icechunk.Repository) error { return r.DeleteBranch(ctx, name) })
	case f.reset != "":
		return f.moved(cmd, r, "branch", name, "moved to "+f.reset, "--reset", "moves the branch "+name+" of "+f.shown+" to "+f.reset, func(r *icechunk.Repository) error { return r.ResetBranch(ctx, name, f.reset) })
	default:
		return f.created(cmd, "branch", name, r.CreateBranch(ctx, name, cmp.Or(f.at, at)), r.Branches)
	}
}

func (f *icechunkFlags) tag(cmd *cobra.Command, r *icechunk.Repository, at string, names []string) error {
	if len(names) == 0 {
		return f.list(cmd, "tags", r.Tags)
	}
	if f.remove {
		return f.moved(cmd, r, "tag", names[0], "deleted", "--at", "deletes the tag "+names[0]+" of "+f.shown+", whose name is never used again", func(r *icechunk.Repository) error { return r.DeleteTag(cmd.Context(), names[0]) })
	}
	return f.created(cmd, "tag", names[0], r.CreateTag(cmd.Context(), names[0], cmp.Or(f.at, at)), r.Tags)
}

func (f *icechunkFlags) container(cmd *cobra.Command, r *icechunk.Repository, _ string, names []string) error {
	ctx := cmd.Context()
	if len(names) == 0 {
		list, err := r.Containers(ctx)
		if err != nil {
			return err
		}
		lines := []string(nil)
		for _, prefix := range list {
			lines = append(lines, phrase.Printable(session.WithoutSecrets(prefix)))
		}
		if len(list) == 0 {
			lines = append(lines, "no containers")
		}
		return session.PrintLines(cmd, map[string]any{"containers": append([]string{}, list...)}, lines...)
	}
	location := names[0]
	if !strings.Contains(location, "://") {
		folder, err := filepath.Abs(location)
		if err != nil {
			return err
		}
		location = (&url.URL{Scheme: "file", Path: "/" + strings.TrimPrefix(filepath.ToSlash(folder), "/")}).String()
	}
	shown := session.WithoutSecrets(location)
	if f.remove {
		return f.done(cmd, "container", shown, "deleted", r.RemoveContainer(ctx, location))
	}
	if u, err := url.Parse(location); err == nil && u.Scheme == "file" {
		if info, err := os.Stat(node.LocalPath(location)); err != nil || !info.IsDir() {
			return failure.NotFound("there is no folder %s on this machine", shown)
		}
	}
	added, err := r.AddContainer(ctx, location)
	if err == nil && !added {
		return session.PrintLines(cmd, map[string]any{"container": shown, "done": nil, "dry_run": f.dry}, fmt.Sprintf("container %s: it is there already", phrase.Printable(shown)))
	}
	return f.done(cmd, "container", shown, "added", err)
}

// created prints where a new reference leads.
func (f *icechunkFlags) created(cmd *cobra.Command, kind, name string, err error, read func(context.Context) ([]icechunk.Reference, error)) error {
	if err != nil {
		return f.done(cmd, kind, name, "", err)
	}
	refs, err := read(cmd.Context())
	if err != nil {
		return err
	}
	// Another program may have deleted it meanwhile.
	var snapshot any
	text := fmt.Sprintf("%s %s: %s", kind, phrase.Printable(name), f.past("created"))
	if i := slices.IndexFunc(refs, func(ref icechunk.Reference) bool { return ref.Name == name }); i >= 0 {
		snapshot = refs[i].Snapshot.String()
		text += " at " + refs[i].Snapshot.String()
	}
	return session.PrintLines(cmd, map[string]any{kind: name, "done": "created", "dry_run": f.dry, "snapshot": snapshot}, text)
}

// moved moves or deletes a reference. It prints where that led, and the flag of varve
// icechunk branch that makes a branch there again.
func (f *icechunkFlags) moved(cmd *cobra.Command, r *icechunk.Repository, kind, name, what, undo, warning string, change func(*icechunk.Repository) error) error {
	ctx, list := cmd.Context(), r.Branches
	if kind == "tag" {
		list = r.Tags
	}
	at := func() (*icechunk.ID, error) {
		refs, err := list(ctx)
		for _, ref := range refs {
			if ref.Name == name {
				return &ref.Snapshot, nil
			}
		}
		return nil, err
	}
	from, err := at()
	if err == nil && !f.dry && !f.yes {
		if err = change(f.trial); err == nil {
			err = place.Confirm(cmd, phrase.Printable(warning))
		}
	}
	if err == nil {
		err = change(r)
	}
	if err != nil || from == nil {
		return f.done(cmd, kind, name, what, err)
	}
	to, err := at()
	if err != nil {
		return err
	}
	n, err := r.Unreached(ctx, *from)
	if err != nil {
		return err
	}
	led := "" // nowhere
	if to != nil {
		led = to.String()
	}
	text := fmt.Sprintf("%s %s: %s, from %v", kind, phrase.Printable(name), f.past(what), from)
	if n > 0 {
		text += fmt.Sprintf("; it alone led to %s: until varve icechunk gc deletes that, varve icechunk branch %s %s %s %v goes back",
			phrase.Plural(int64(n), "commit"), phrase.Word(f.shown), phrase.Word(name), undo, from)
	}
	return session.PrintLines(cmd, map[string]any{kind: name, "done": what, "dry_run": f.dry, "from": from.String(), "to": output.Present(led), "commits_unreached": n}, text)
}

// done prints what was done to a reference.
func (f *icechunkFlags) done(cmd *cobra.Command, kind, name, what string, err error) error {
	if errors.Is(err, zarr.ErrInvalidArgument) {
		return failure.BadArgument("%w", err)
	}
	if err != nil {
		return err
	}
	return session.PrintLines(cmd, map[string]any{kind: name, "done": what, "dry_run": f.dry}, fmt.Sprintf("%s %s: %s", kind, phrase.Printable(name), f.past(what)))
}

// past says what was done, or would be.
func (f *icechunkFlags) past(what string) string {
	if f.dry {
		what = "would be " + what
	}
	return phrase.Printable(what)
}

// list prints references.
func (f *icechunkFlags) list(cmd *cobra.Command, kind string, read func(context.Context) ([]icechunk.Reference, error)) error {
	refs, err := read(cmd.Context())
	if err != nil {
		return err
	}
	type reference struct {
		Name     string `json:"name"`
		Snapshot string `json:"snapshot"`
	}
	list, lines := []reference{}, []string(nil)
	for _, ref := range refs {
		list = append(list, reference{ref.Name, ref.Snapshot.String()})
		lines = append(lines, fmt.Sprintf("%v  %s", ref.Snapshot, phrase.Printable(ref.Name)))
	}
	return session.PrintLines(cmd, map[string]any{kind: list}, slices.Clip(lines)...)
}
