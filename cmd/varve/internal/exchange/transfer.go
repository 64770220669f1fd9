// SPDX-License-Identifier: Apache-2.0

// Package exchange has the actions of varve icechunk that move data into repositories,
// out of them and between them, and that compare snapshots.
package exchange

import (
	"errors"
	"io/fs"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"varve.dev/zarr"
	"varve.dev/zarr/cmd/varve/internal/copying"
	"varve.dev/zarr/cmd/varve/internal/failure"
	"varve.dev/zarr/cmd/varve/internal/node"
	"varve.dev/zarr/cmd/varve/internal/session"
	"varve.dev/zarr/cmd/varve/internal/usage"
	"varve.dev/zarr/cmd/varve/internal/virtualizing"
	"varve.dev/zarr/icechunk"
	"varve.dev/zarr/internal/own"
	"varve.dev/zarr/store"
)

// NewImport returns the action import.
func NewImport() *cobra.Command {
	c := &cobra.Command{
		Use:   "import SOURCE REPOSITORY",
		Short: "Put a Zarr hierarchy, a manifest or a foreign file into a repository, in one commit",
		Long: `Put a Zarr hierarchy, a manifest or a foreign file into a repository, in one commit. REPOSITORY is a folder, a URL, or
icechunk+URL@BRANCH/PATH for a branch other than main and a path below the root. If there is no repository, it is made.

Chunks are copied as they are stored, by the service where it can. Nodes of format 2 get documents of format 3. With
--reference the chunks stay where they are, and become virtual chunks; readers need permission for that place (--allow).`,
		Example: `  varve icechunk import era5.zarr s3://bucket/era5 -m "the archive"
  varve icechunk import --reference archive.vz icechunk+file:///data/era5@main/archive`,
		Args:              usage.Arguments("SOURCE", "REPOSITORY"),
		ValidArgsFunction: node.Complete,
	}
	reference := c.Flags().Bool("reference", false, "refer to the chunks where they are, and copy none")
	dry := c.Flags().Bool("dry-run", false, "change nothing, and count what would be stored")
	overwrite := c.Flags().Bool("overwrite", false, "replace the node at PATH and everything below it, in the same commit")
	yes := c.Flags().Bool("yes", false, "do not ask before --overwrite removes a group")
	c.RunE = func(cmd *cobra.Command, args []string) error {
		to, err := nodeIn(args[1])
		if err == nil {
			err = node.Undivided(cmd.Context(), args[1])
		}
		if err == nil {
			err = ensure(cmd, args[0], to, *dry)
		}
		switch {
		case err != nil:
			return err
		case *reference:
			return virtualizing.Reference(cmd, args[0], to, *dry, *overwrite, *yes)
		}
		return copying.Transfer(cmd, args[0], to, *dry, *overwrite, *yes)
	}
	return c
}

// NewExport returns the action export.
func NewExport() *cobra.Command {
	c := &cobra.Command{
		Use:   "export REPOSITORY DST",
		Short: "Write a snapshot as plain Zarr, with consolidated metadata",
		Long: `Write a snapshot, or a node of it, as plain Zarr. REPOSITORY is a folder, a URL, or icechunk+URL@REF/PATH for another
snapshot than that of main or for a node; DST is the new node. Chunks are copied as they are stored, by the service where
it can, and virtual chunks from where they are. The metadata of a group is consolidated.`,
		Example: `  varve icechunk export s3://bucket/era5 era5.zarr
  varve icechunk export icechunk+s3://bucket/era5@tag:v1/t2m t2m.zarr`,
		Args:              usage.Arguments("REPOSITORY", "DST"),
		ValidArgsFunction: node.Complete,
	}
	dry := c.Flags().Bool("dry-run", false, "change nothing, and count what would be copied")
	overwrite := c.Flags().Bool("overwrite", false, "replace the node at DST and everything below it")
	yes := c.Flags().Bool("yes", false, "do not ask before --overwrite removes a group")
	c.RunE = func(cmd *cobra.Command, args []string) error {
		from, err := nodeIn(args[0])
		if err == nil {
			err = node.Undivided(cmd.Context(), args[0])
		}
		if err != nil {
			return err
		}
		if node.IsRepository(args[1]) {
			return failure.BadArgument("DST is in a repository: varve copy copies nodes between repositories, and varve icechunk clone all history")
		}
		if err := copying.Transfer(cmd, from, args[1], *dry, *overwrite, *yes); err != nil || *dry {
			return err
		}
		return consolidate(cmd, args[1])
	}
	return c
}

// consolidate stores consolidated metadata if there is a group at a location.
func consolidate(cmd *cobra.Command, location string) error {
	n, err := zarr.Open(cmd.Context(), location, session.Writing(cmd))
	if err != nil {
		return err
	}
	if g, isGroup := n.(*zarr.Group); isGroup && !own.IsArchive(node.LocalPath(location)) {
		err = g.Consolidate(cmd.Context())
	}
	return errors.Join(err, n.Close())
}

// nodeIn returns the location of a node in a repository, which may be given by its folder
// or URL alone.
func nodeIn(repository string) (string, error) {
	if node.IsRepository(repository) {
		return repository, nil
	}
	return session.RepositoryLocation(repository), nil
}

// ensure makes the repository of a node if there is none. Before that it looks at what
// would make the import fail, so that no empty repository is left.
func ensure(cmd *cobra.Command, source, location string, dry bool) error {
	repository, at, _, err := icechunk.ParseLocation(location)
	if err != nil {
		return err
	}
	r, missing := open(cmd, repository)
	if missing == nil {
		return r.Close()
	}
	if !errors.Is(missing, fs.ErrNotExist) {
		return missing
	}
	if err := CheckPlace(cmd, repository); err != nil {
		return err
	}
	switch strings.TrimPrefix(at, "branch:") {
	case "", "main":
	default:
		return failure.NotFound("there is no repository, and a new one has the branch main only: write @main, or nothing")
	}
	n, err := node.Open(cmd, source)
	if errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err == nil { // else the import says more, or takes the file as it is
		_ = n.Close()
	}
	if dry {
		return failure.NotFound("%w: a dry run needs one: varve icechunk init makes it", missing)
	}
	s, root, err := store.OpenPlain(cmd.Context(), repository, store.Create)
	if err != nil {
		return err
	}
	if r, err = icechunk.Create(cmd.Context(), s, root, nil); err != nil {
		return errors.Join(err, store.Close(s))
	}
	return r.Close()
}

// CheckPlace returns an error if a new repository at a location would be in another one.
func CheckPlace(cmd *cobra.Command, location string) error {
	if err := node.Undivided(cmd.Context(), location); err != nil {
		return err
	}
	if !strings.Contains(location, "://") {
		name, err := filepath.Abs(location)
		if err != nil {
			return err
		}
		location = filepath.ToSlash(name)
	}
	return icechunk.CheckPlace(cmd.Context(), location)
}

// open opens a repository for reading.
func open(cmd *cobra.Command, repository string) (*icechunk.Repository, error) {
	r, err := node.OpenRepository(cmd.Context(), repository, store.ReadOnly)
	if err != nil {
		return nil, failure.On(cmd.Name(), session.WithoutSecrets(repository), err)
	}
	return r.Repository, nil
}
