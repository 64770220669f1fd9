// SPDX-License-Identifier: Apache-2.0

package exchange

import (
	"errors"
	"fmt"
	"io/fs"

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
	"varve.dev/zarr/store"
	"varve.dev/zarr/store/memstore"
)

// cloned is the result of the action clone, in the form of --json.
type cloned struct {
	Source    string `json:"source"`
	Clone     string `json:"clone"`
	DryRun    bool   `json:"dry_run"`
	Snapshots int    `json:"snapshots"`
	Objects   int64  `json:"objects"`
	Bytes     int64  `json:"bytes"`
	Kept      int64  `json:"objects_kept"`
}

// NewClone returns the action clone.
func NewClone() *cobra.Command {
	c := &cobra.Command{
		Use:   "clone REPOSITORY NEW",
		Short: "Copy a repository with its history, or a part of that",
		Long: `Copy a repository with its history, or a part of that. Without flags, all branches, tags and commits are copied, and keep
their IDs. With icechunk+URL@REF, only this branch or tag is; the branch main of NEW leads to it, too. What --depth and
--since leave out becomes a part of the first commit that stays, as an expiry does. The log has the first snapshot, too,
with which every repository begins.

The object that names all others is stored last, so NEW is there whole or not at all. After an interruption, the same
command continues: it copies what is missing. Services copy objects themselves where they can. Virtual chunks stay where
they are.`,
		Example: `  varve icechunk clone s3://bucket/era5 s3://backup/era5
  varve icechunk clone icechunk+s3://bucket/era5@main /data/era5 --depth 10`,
		Args:              usage.Arguments("REPOSITORY", "NEW"),
		ValidArgsFunction: node.Complete,
	}
	var opt icechunk.CloneOptions
	var since string
	c.Flags().IntVar(&opt.Depth, "depth", 0, "keep the last `N` commits of each branch and tag")
	flagtext.Var(c.Flags(), &since, "since", "", "keep the commits since `TIME`, such as 2026-01-01 or 2026-01-01T12:00:00Z, and the last one",
		func(text string) (err error) {
			opt.Since, err = node.ParseTime(text)
			return err
		})
	c.Flags().BoolVar(&opt.DryRun, "dry-run", false, "change nothing, and count what would be copied")
	c.RunE = func(cmd *cobra.Command, args []string) error {
		if opt.Depth < 1 && cmd.Flags().Changed("depth") {
			return failure.BadUsage("--depth is the number of commits to keep: give 1 or more")
		}
		return clone(cmd, args[0], args[1], opt)
	}
	return c
}

func clone(cmd *cobra.Command, from, to string, opt icechunk.CloneOptions) (err error) {
	ctx := cmd.Context()
	repository, at, path, err := icechunk.ParseLocation(from)
	switch {
	case err != nil:
		return err
	case path != "":
		return failure.BadArgument("%s leads to a node: leave out what follows the branch, or copy the node (varve copy)", from)
	case node.IsRepository(to):
		return failure.BadArgument("NEW is a folder or a URL: leave out icechunk+ and what follows @")
	}
	if err := CheckPlace(cmd, to); err != nil {
		return err
	}
	opt.At = at
	r, err := open(cmd, repository)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	s, root, err := destination(cmd, to, opt.DryRun)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close(s)) }()
	line := progress.NewCount(cmd, "cloning objects", 0)
	opt.Progress = func(icechunk.Cloned) { line.Add(1) }
	done, err := r.Clone(ctx, s, root, &opt)
	line.End()
	if err != nil {
		place.RemoveEmpty(to) // opening it may have made it
		err = failure.On(cmd.Name(), session.WithoutSecrets(from), err)
		if errors.Is(err, zarr.ErrCorrupt) {
			err = failure.Leftover(err, "varve icechunk check %s says what is affected", phrase.Word(session.WithoutSecrets(repository)))
		}
		if done.Objects > 0 && !opt.DryRun {
			err = failure.Leftover(err, "nobody sees the objects that %s has now: the same command continues", to)
		}
		return err
	}
	is := cloned{session.WithoutSecrets(from), session.WithoutSecrets(to), opt.DryRun, done.Snapshots, done.Objects, done.Bytes, done.Kept}
	if session.WantsJSON(cmd) {
		return session.PrintJSON(cmd, is)
	}
	what := "copied"
	if opt.DryRun {
		what = "to copy, nothing was changed"
	}
	text := fmt.Sprintf("%s  %s, %s and %s: %s", phrase.Printable(is.Clone), phrase.Plural(int64(done.Snapshots), "snapshot"),
		phrase.Plural(done.Objects, "object"), phrase.Bytes(done.Bytes), what)
	if done.Kept > 0 {
		text += fmt.Sprintf("; %s there before", phrase.Plural(done.Kept, "object"))
	}
	_, err = fmt.Fprintln(cmd.OutOrStdout(), text)
	return err
}

// destination opens the place of a new repository. For a dry run an empty store stands
// for a missing one.
func destination(cmd *cobra.Command, location string, dry bool) (store.Store, store.Path, error) {
	access := store.Create
	if dry {
		access = store.ReadOnly
	}
	s, root, err := store.OpenPlain(cmd.Context(), location, access)
	if dry && errors.Is(err, fs.ErrNotExist) {
		return memstore.New(), store.Path{}, nil
	}
	return s, root, failure.On(cmd.Name(), session.WithoutSecrets(location), err)
}
