// SPDX-License-Identifier: Apache-2.0

package upkeep

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"varve.dev/zarr"
	"varve.dev/zarr/cmd/varve/internal/failure"
	"varve.dev/zarr/cmd/varve/internal/node"
	"varve.dev/zarr/cmd/varve/internal/output"
	"varve.dev/zarr/cmd/varve/internal/phrase"
	"varve.dev/zarr/cmd/varve/internal/session"
	"varve.dev/zarr/cmd/varve/internal/usage"
	"varve.dev/zarr/icechunk"
	"varve.dev/zarr/store"
)

// checking is the command check.
type checking struct {
	opt             icechunk.CheckOptions
	restore, branch string
}

func newCheck() *cobra.Command {
	c := &cobra.Command{
		Use:   "check REPOSITORY",
		Short: "Look for damage, and for commits that another writer has overwritten; status 1 if there is any",
		Long: `Look for damage in a repository of Icechunk: objects that do not decode or do not exist, and objects
that say of others what is not so. Chunks are not read, but their sizes are asked for; varve check
reads them. Status 1 if there is any damage.

It also finds commits that a writer without a lock has overwritten, such as the reference on a local
disk. --restore makes a new branch at one, with the lost commits before it. The last commit that was
overwritten may be in no copy of the object repo: then it is not found.`,
		Example: `  varve icechunk check s3://bucket/era5
  varve icechunk check /data/era5 --restore H7T8YA6KR5TH32F3PS10 --branch found`,
		Args: usage.Arguments("REPOSITORY"),
	}
	f := c.Flags()
	k := new(checking)
	f.BoolVar(&k.opt.Virtual, "virtual", false, "also look for the objects of virtual chunks, which need --allow")
	f.IntVar(&k.opt.Backups, "backups", 1000, "look for overwritten commits in the latest `N` copies of the object repo")
	f.StringVar(&k.restore, "restore", "", "check nothing, but make a branch at the overwritten commit `ID`")
	f.StringVar(&k.branch, "branch", "", "the `NAME` of that branch")
	c.RunE = func(cmd *cobra.Command, args []string) error {
		access, do := store.ReadOnly, k.check
		switch {
		case (k.restore == "") != (k.branch == ""):
			return failure.BadUsage("--restore and --branch need each other")
		case k.restore != "":
			access, do = store.ReadWrite, k.revive
		}
		return on(cmd, args[0], access, func(r *node.Repository, shown string) error { return do(cmd, r, shown) })
	}
	return c
}

// revive makes a branch at a commit that was overwritten.
func (k *checking) revive(cmd *cobra.Command, r *node.Repository, shown string) error {
	err := r.Restore(cmd.Context(), k.branch, k.restore)
	if errors.Is(err, zarr.ErrInvalidArgument) {
		return failure.BadArgument("%w", err)
	}
	if err != nil {
		return failure.On("restore", shown, err)
	}
	return session.PrintLines(cmd, map[string]any{"branch": k.branch, "snapshot": k.restore, "done": "created"},
		fmt.Sprintf("branch %s: created at %s", phrase.Printable(k.branch), k.restore))
}

// finding is a finding in the form that varve check has, too.
type finding struct {
	Kind    string   `json:"kind"`
	Path    string   `json:"path"` // of the node
	Key     *string  `json:"key"`  // below the repository
	Chunk   []uint32 `json:"chunk"`
	Message string   `json:"message"`
	Repair  string   `json:"repair"`
}

// counted are objects that are counted.
type counted struct {
	Objects int64 `json:"objects"`
	Bytes   int64 `json:"bytes"`
}

// lost is a commit that was overwritten.
type lost struct {
	Snapshot string    `json:"snapshot"`
	Branch   string    `json:"branch"`
	Time     time.Time `json:"time"`
	Message  string    `json:"message"`
}

func (k *checking) check(cmd *cobra.Command, r *node.Repository, shown string) error {
	if k.opt.Backups <= 0 {
		k.opt.Backups = -1 // as the library says none
	}
	p := &line{cmd: cmd}
	k.opt.Progress = p.show
	report, err := r.Check(cmd.Context(), &k.opt)
	p.end()
	if err != nil {
		return failure.On("check", shown, err)
	}
	found, lines, overwritten, orphans := []finding{}, []string(nil), []lost{}, map[string]counted{}
	for _, f := range report.Findings {
		one := finding{Kind: f.Kind, Path: strings.TrimPrefix(f.Path, "/"), Key: output.Present(f.Key), Chunk: f.Chunk, Message: f.Message}
		where := strings.TrimSpace(f.Key + " " + f.Path)
		if f.Chunk != nil {
			where += fmt.Sprintf(" chunk %v", f.Chunk)
		}
		if f.Kind == icechunk.FoundOverwritten {
			_, id, _ := strings.Cut(f.Key, "/")
			one.Repair = fmt.Sprintf("varve icechunk check %s --restore %s --branch NAME", phrase.Word(shown), id)
		}
		if f.Whole != (icechunk.ID{}) {
			one.Repair = fmt.Sprintf("varve icechunk branch %s NAME --at %v", phrase.Word(shown), f.Whole)
		}
		if where != "" {
			where += ": "
		}
		one.Message = failure.Remedied(f.Message)
		found = append(found, one)
		lines = append(lines, fmt.Sprintf("  %s: %s%s", f.Kind, phrase.Printable(where), phrase.Printable(one.Message)))
		if one.Repair != "" {
			lines = append(lines, "    "+one.Repair)
		}
	}
	for _, o := range report.Overwritten {
		overwritten = append(overwritten, lost{o.ID.String(), o.Branch, o.Time, o.Message})
	}
	garbage := icechunk.Deleted{}
	for folder, o := range report.Orphans {
		orphans[folder] = counted(o)
		garbage = icechunk.Deleted{Objects: garbage.Objects + o.Objects, Bytes: garbage.Bytes + o.Bytes}
	}
	_, left, err := temporary(cmd.Context(), r)
	if err != nil {
		return failure.On("check", shown, err)
	}
	head := fmt.Sprintf("%s  %s, %s, %s", phrase.Printable(shown), phrase.Plural(report.Snapshots, "snapshot"), phrase.Plural(report.Manifests, "manifest"), phrase.Plural(report.References, "reference"))
	if len(found) == 0 {
		head += ": no damage"
	}
	if report.Omitted > 0 {
		lines = append(lines, fmt.Sprintf("  and %s", phrase.Plural(report.Omitted, "more finding")))
	}
	if left.Objects > 0 {
		lines = append(lines, "  "+temporaryText(left)+": varve icechunk gc deletes those of writers that have crashed")
	}
	if garbage.Objects > 0 {
		lines = append(lines, fmt.Sprintf("  %s that nothing names, %s: varve icechunk gc deletes old ones", phrase.Plural(garbage.Objects, "object"), phrase.Bytes(garbage.Bytes)))
	}
	if report.BackupsLeft > 0 && k.opt.Backups > 0 {
		lines = append(lines, fmt.Sprintf("  %s of the object repo not looked at: --backups N", phrase.Plural(int64(report.BackupsLeft), "older backup")))
	}
	err = session.PrintLines(cmd, map[string]any{
		"repository": shown, "findings": found, "findings_omitted": report.Omitted, "overwritten": overwritten, "orphans": orphans, "temporary": counted(left), "backups_left": report.BackupsLeft,
		"checked": map[string]int64{"snapshots": report.Snapshots, "manifests": report.Manifests, "transactions": report.Transactions, "references": report.References, "virtual": report.Virtual},
	}, append([]string{head}, lines...)...)
	if err == nil && len(found) > 0 {
		return failure.Verdict(phrase.Plural(int64(len(found))+report.Omitted, "finding") + " in " + shown)
	}
	return err
}

// temporaryText counts temporary files.
func temporaryText(n icechunk.Deleted) string {
	return fmt.Sprintf("%s, %s", phrase.Plural(n.Objects, "temporary file"), phrase.Bytes(n.Bytes))
}

func newStats() *cobra.Command {
	return &cobra.Command{
		Use:     "stats REPOSITORY",
		Short:   "Count what a repository has: references, chunks of each kind, and bytes, also those that nothing names",
		Example: "  varve icechunk stats s3://bucket/era5 --json",
		Args:    usage.Arguments("REPOSITORY"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return on(cmd, args[0], store.ReadOnly, func(r *node.Repository, shown string) error { return count(cmd, r, shown) })
		},
	}
}

// reference is a branch or a tag with what it has.
type reference struct {
	Name     string `json:"name"`
	Snapshot string `json:"snapshot"`
	Commits  int    `json:"commits"`
	Arrays   int    `json:"arrays"`
	Groups   int    `json:"groups"`
	Chunks   int64  `json:"references"`
}

// chunks are chunks of one kind.
type chunks struct {
	Chunks int64 `json:"chunks"`
	Bytes  int64 `json:"bytes"`
}

// folder has the objects of a folder.
type folder struct {
	Stored counted `json:"stored"`
	Live   counted `json:"live"`
}

// count prints the statistics of a repository.
func count(cmd *cobra.Command, r *node.Repository, shown string) error {
	p := &line{cmd: cmd}
	is, err := r.Statistics(cmd.Context(), p.show)
	p.end()
	if err != nil {
		return withCheck(failure.On("stats", shown, err), shown, "")
	}
	_, left, err := temporary(cmd.Context(), r)
	if err != nil {
		return failure.On("stats", shown, err)
	}
	lines := []string{fmt.Sprintf("%s  %s, %s, %s", phrase.Printable(shown), phrase.Plural(int64(is.Snapshots), "snapshot"), phrase.Plural(int64(is.Manifests), "manifest"), phrase.Plural(is.References, "reference"))}
	references := func(kind string, refs []icechunk.ReferenceStatistics) []reference {
		list := []reference{}
		for _, b := range refs {
			list = append(list, reference{b.Name, b.Snapshot.String(), b.Commits, b.Arrays, b.Groups, b.Chunks})
			lines = append(lines, fmt.Sprintf("  %s %s: %s, %s, %s, %s", kind, phrase.Printable(b.Name), phrase.Plural(int64(b.Commits), "commit"),
				phrase.Plural(int64(b.Arrays), "array"), phrase.Plural(int64(b.Groups), "group"), phrase.Plural(b.Chunks, "reference")))
		}
		return list
	}
	branches, tags := references("branch", is.Branches), references("tag", is.Tags)
	kinds, folders := map[string]chunks{}, map[string]folder{}
	for _, k := range []struct {
		name string
		icechunk.ChunkCount
	}{{"native", is.Native}, {"inline", is.Inline}, {"virtual", is.Virtual}} {
		kinds[k.name] = chunks(k.ChunkCount)
		lines = append(lines, fmt.Sprintf("  %s chunks: %s, %s", k.name, phrase.Count(k.Chunks), phrase.Bytes(k.Bytes)))
	}
	for _, name := range []string{"snapshots", "transactions", "manifests", "chunks", "overwritten"} {
		f := is.Folders[name]
		folders[name] = folder{counted(f.Stored), counted(f.Live)}
		text := fmt.Sprintf("  %s/: %s, %s", name, phrase.Plural(f.Stored.Objects, "object"), phrase.Bytes(f.Stored.Bytes))
		if n := f.Stored.Bytes - f.Live.Bytes; f.Stored.Objects > f.Live.Objects {
			text += fmt.Sprintf(", of which nothing names %s, %s", phrase.Plural(f.Stored.Objects-f.Live.Objects, "object"), phrase.Bytes(n))
		}
		lines = append(lines, text)
	}
	if left.Objects > 0 {
		lines = append(lines, "  "+temporaryText(left))
	}
	return session.PrintLines(cmd, map[string]any{
		"repository": shown, "snapshots": is.Snapshots, "manifests": is.Manifests, "references": is.References,
		"branches": branches, "tags": tags, "chunks": kinds, "folders": folders, "temporary": counted(left),
	}, lines...)
}
