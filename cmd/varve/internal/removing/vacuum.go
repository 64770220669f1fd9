// SPDX-License-Identifier: Apache-2.0

package removing

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"varve.dev/zarr"
	"varve.dev/zarr/cmd/varve/internal/facts"
	"varve.dev/zarr/cmd/varve/internal/failure"
	"varve.dev/zarr/cmd/varve/internal/flagtext"
	"varve.dev/zarr/cmd/varve/internal/growth"
	"varve.dev/zarr/cmd/varve/internal/node"
	"varve.dev/zarr/cmd/varve/internal/phrase"
	"varve.dev/zarr/cmd/varve/internal/place"
	"varve.dev/zarr/cmd/varve/internal/planfile"
	"varve.dev/zarr/cmd/varve/internal/session"
	"varve.dev/zarr/cmd/varve/internal/usage"
	"varve.dev/zarr/internal/lineage"
	"varve.dev/zarr/internal/own"
	"varve.dev/zarr/rechunk"
	"varve.dev/zarr/store"
	"varve.dev/zarr/virtual"
)

// vacuuming is the command vacuum.
type vacuuming struct {
	grace            time.Duration
	yes, dry, giveUp bool
	singleWriter     *bool
}

// NewVacuum returns the command vacuum.
func NewVacuum() *cobra.Command {
	c := &cobra.Command{
		Use:   "vacuum NODE|GROUP",
		Short: "Delete what no metadata of an array describes, such as the chunks before a rechunk",
		Long: `Delete what no metadata of an array describes, or of all arrays below a group: chunks of the grid
before varve compact, regularize, rechunk, drop or insert, chunks beyond the extent, and what a
stopped command has left, such as temporary files and uploads that are a week old. On a terminal it
asks first; elsewhere it needs --yes.

Chunks of the grid before stay for a day, or for --grace, because readers that opened the array
before still use them. Values that Varve does not know are never deleted. If one array of a group
fails, the others are vacuumed nevertheless.`,
		Example: `  varve vacuum era5.zarr/t2m --dry-run
  varve vacuum era5.zarr/t2m --grace 1h --yes
  varve vacuum archive.vz --yes`,
		Args:              usage.Arguments("NODE"),
		ValidArgsFunction: node.Complete,
	}
	v := new(vacuuming)
	f := c.Flags()
	flagtext.Duration(f, &v.grace, "grace", rechunk.DefaultGrace, "keep the chunks of a grid for this `TIME` after it was superseded, such as 30m or 7d")
	f.BoolVar(&v.yes, "yes", false, "do not ask")
	f.BoolVar(&v.dry, "dry-run", false, "delete nothing, and list what would be deleted")
	giveUp := "first delete what a stopped rechunk has stored for its new chunks; it cannot continue then"
	f.BoolVar(&v.giveUp, "give-up", false, giveUp)
	f.BoolVar(&v.giveUp, "abandon", false, giveUp) // as it was called first
	f.Lookup("abandon").Hidden = true
	v.singleWriter = growth.SingleWriterFlag(c)
	c.RunE = func(cmd *cobra.Command, args []string) error {
		if err := node.OutsideRepository(args[0], "keeps what its history leads to: varve icechunk expire shortens that, and varve icechunk gc deletes the rest"); err != nil {
			return err
		}
		return v.run(cmd, args[0])
	}
	return c
}

// cleaned is an array that is vacuumed.
type cleaned struct {
	location  string
	array     *zarr.Array
	temporary []facts.TemporaryFile // as they were before
	report    *rechunk.VacuumReport
	staged    []rechunk.VacuumItem // what --give-up deletes
}

func (v *vacuuming) run(cmd *cobra.Command, location string) error {
	how := store.ReadWrite
	if v.dry {
		how = store.ReadOnly
	}
	if f, err := node.ManifestAt(cmd.Context(), location, how); err != nil {
		return failure.On("vacuum", location, err)
	} else if f != nil {
		defer f.Close()
		return v.vacuumManifest(cmd, location, f)
	}
	temporary, err := temporaryBefore(cmd, location)
	if err != nil {
		return err
	}
	access := session.Writing(cmd)
	access.Write, access.SingleWriter = !v.dry, *v.singleWriter
	n, err := zarr.Open(cmd.Context(), location, access)
	if err != nil {
		return err
	}
	defer n.Close()
	var list []*cleaned
	var failed error
	if a, is := n.(*zarr.Array); is {
		list = append(list, &cleaned{location: location, array: a})
	} else {
		for m, err := range node.Arrays(cmd, location, n.(*zarr.Group), access, node.Filter{Deep: true}) {
			if failed = err; err == nil {
				list = append(list, &cleaned{location: m.Location, array: m.Array})
			}
		}
		if failed != nil && len(list) == 0 {
			return failed
		}
	}
	// What one array lacks must not keep the others from being vacuumed.
	each := func(do func(*cleaned) error) {
		list = slices.DeleteFunc(list, func(c *cleaned) bool {
			err := failure.On("vacuum", c.location, do(c))
			failed = errors.Join(failed, err)
			return err != nil
		})
	}
	each(func(c *cleaned) error {
		c.temporary = below(temporary, c.array.Path())
		return v.look(cmd, c)
	})
	freed := int64(0)
	for _, c := range list {
		freed += c.report.Freed()
		for _, f := range c.temporary {
			freed += f.Bytes
		}
	}
	uploads, left := sweepUploads(cmd.Context(), n.Location().Store(), true)
	if !v.dry && !v.yes && (freed > 0 || v.giveUp || uploads > 0) {
		what := fmt.Sprintf("deletes %s of values that no metadata describes", phrase.Bytes(freed))
		if uploads > 0 {
			what += fmt.Sprintf(", and aborts %s of crashed writers anywhere in this store", phrase.Plural(int64(uploads), "upload"))
		}
		if err := place.Confirm(cmd, what); err != nil {
			return errors.Join(failed, err)
		}
	}
	if !v.dry {
		each(func(c *cleaned) error { return v.clean(cmd, c) })
	}
	each(func(c *cleaned) error { return vacuumTemporary(cmd, c.array, c.temporary, v.dry, c.report) })
	if !v.dry && uploads > 0 {
		uploads, left = sweepUploads(cmd.Context(), n.Location().Store(), false)
	}
	noteUploads(cmd, location, v.dry, uploads, left)
	if _, is := n.(*zarr.Array); is {
		if failed != nil {
			return failed
		}
		return printVacuum(cmd, list[0], v.dry)
	}
	return errors.Join(printVacuums(cmd, location, list, v.dry), failed)
}

// options returns the options of a vacuum.
func (v *vacuuming) options(dry bool) *rechunk.VacuumOptions {
	o := &rechunk.VacuumOptions{Grace: v.grace, DryRun: dry}
	if v.grace == 0 {
		o.Grace = -1 // none
	}
	return o
}

// look finds out what would be deleted.
func (v *vacuuming) look(cmd *cobra.Command, c *cleaned) (err error) {
	c.report, err = rechunk.Vacuum(cmd.Context(), c.array, v.options(true))
	if errors.Is(err, lineage.ErrDamagedClaim) && v.giveUp {
		c.report, err = new(rechunk.VacuumReport), nil
		c.staged = append(c.staged, rechunk.VacuumItem{Kind: "damaged", Keys: own.Dir + "/regrid.json", Values: 1})
		c.report.Items = c.staged
	}
	if err != nil || !v.giveUp {
		return err
	}
	for i := range c.report.Items {
		if item := &c.report.Items[i]; item.Staged {
			item.Kept = ""
			c.staged = append(c.staged, *item)
		}
	}
	return nil
}

// clean deletes it.
func (v *vacuuming) clean(cmd *cobra.Command, c *cleaned) (err error) {
	if v.giveUp {
		if err := rechunk.Abandon(cmd.Context(), c.array, &rechunk.Options{TakeOver: *v.singleWriter}); err != nil {
			return err
		}
	}
	c.report, err = rechunk.Vacuum(cmd.Context(), c.array, v.options(false))
	// The vacuum no longer finds what has been given up.
	for _, item := range c.staged {
		if !slices.ContainsFunc(c.report.Items, func(i rechunk.VacuumItem) bool { return i.Keys == item.Keys }) {
			c.report.Items = append(c.report.Items, item)
		}
	}
	return err
}

// temporaryBefore lists the temporary files at and below a node. To open the node for
// writing removes those of crashed writers.
func temporaryBefore(cmd *cobra.Command, location string) (files []facts.TemporaryFile, err error) {
	if planfile.IsStored(strings.TrimPrefix(location, "file://")) {
		return nil, nil // only local stores have any
	}
	n, err := zarr.Open(cmd.Context(), location, session.Reading(cmd))
	if err != nil {
		return nil, err
	}
	defer n.Close()
	return facts.Temporary(cmd, n)
}

// below returns the files at and below a path of their store.
func below(files []facts.TemporaryFile, path string) (some []facts.TemporaryFile) {
	for _, f := range files {
		if path == "" || strings.HasPrefix(f.Name, path+"/") {
			some = append(some, f)
		}
	}
	return some
}

// vacuumTemporary deletes the temporary files of crashed writers, and adds those files to
// the report that were there before.
func vacuumTemporary(cmd *cobra.Command, a *zarr.Array, before []facts.TemporaryFile, dry bool, r *rechunk.VacuumReport) error {
	if len(before) == 0 {
		return nil
	}
	if !dry {
		store.DirectoriesOf(a.Location().Store()).Sweep(cmd.Context())
	}
	after, err := facts.Temporary(cmd, a)
	if err != nil {
		return err
	}
	stay := map[string]bool{}
	for _, f := range after {
		stay[f.Name] = true
	}
	gone := rechunk.VacuumItem{Kind: "temporary"}
	kept := rechunk.VacuumItem{Kind: "temporary", Kept: "the writer may still run"}
	for _, f := range before {
		item := &gone
		if stay[f.Name] && !(dry && f.Left) {
			item = &kept
		}
		item.Keys, item.Values, item.Bytes = f.Name, item.Values+1, item.Bytes+f.Bytes
	}
	for _, item := range []rechunk.VacuumItem{gone, kept} {
		if item.Values > 0 {
			r.Items = append(r.Items, item)
		}
	}
	return nil
}

// uploadAge is the age after which an upload counts as abandoned. The upload of one value
// takes minutes.
const uploadAge = 7 * 24 * time.Hour

// sweepUploads aborts the uploads of crashed writers, if the store has uploads, or counts
// them in a dry run. That takes a permission of its own, without which everything else is
// vacuumed nevertheless.
func sweepUploads(ctx context.Context, s store.Store, dry bool) (n int, err error) {
	u, ok := store.As[store.UploadSweeper](store.Driver(s))
	if !ok {
		return 0, nil
	}
	return u.SweepUploads(ctx, uploadAge, dry)
}

// noteUploads tells what became of the uploads of crashed writers.
func noteUploads(cmd *cobra.Command, location string, dry bool, n int, err error) {
	done := "were aborted"
	if dry {
		done = "would be aborted"
	}
	if n > 0 {
		session.Note(cmd, location, fmt.Sprintf("%s of crashed writers to this store %s", phrase.Plural(int64(n), "upload"), done))
	}
	if err != nil {
		session.Note(cmd, location, fmt.Sprintf("uploads of crashed writers may be left: %v", err))
	}
}

// vacuumed is one item of the report, in the form of --json.
type vacuumed struct {
	Kind   string     `json:"kind"`
	Keys   string     `json:"keys"` // an example
	Values int64      `json:"values"`
	Bytes  int64      `json:"bytes"`
	Kept   string     `json:"kept,omitempty"`
	Due    *time.Time `json:"due,omitempty"`
}

// vacuumedArray is the report for one array, in the form of --json.
type vacuumedArray struct {
	Path   string     `json:"path"`
	DryRun bool       `json:"dry_run"`
	Freed  int64      `json:"bytes_freed"`
	Items  []vacuumed `json:"items"`
	Notes  []string   `json:"notes"`
}

func (c *cleaned) facts(dry bool) vacuumedArray {
	f := vacuumedArray{Path: c.location, DryRun: dry, Freed: c.report.Freed(), Items: []vacuumed{}, Notes: append([]string{}, c.report.Notes...)}
	for _, i := range c.report.Items {
		v := vacuumed{Kind: i.Kind, Keys: i.Keys, Values: i.Values, Bytes: i.Bytes, Kept: i.Kept}
		if !i.Due.IsZero() {
			v.Due = &i.Due
		}
		f.Items = append(f.Items, v)
	}
	return f
}

// printVacuums prints the reports for the arrays of a group.
func printVacuums(cmd *cobra.Command, location string, list []*cleaned, dry bool) error {
	arrays, freed := []vacuumedArray{}, int64(0)
	for _, c := range list {
		arrays, freed = append(arrays, c.facts(dry)), freed+c.report.Freed()
	}
	if session.WantsJSON(cmd) {
		return session.PrintJSON(cmd, map[string]any{"path": location, "dry_run": dry, "bytes_freed": freed, "arrays": arrays})
	}
	for _, c := range list {
		if err := printVacuum(cmd, c, dry); err != nil {
			return err
		}
	}
	return nil
}

func printVacuum(cmd *cobra.Command, c *cleaned, dry bool) error {
	facts := c.facts(dry)
	if session.WantsJSON(cmd) {
		return session.PrintJSON(cmd, facts)
	}
	w, total := cmd.OutOrStdout(), "freed"
	if dry {
		total = "to free"
	}
	if _, err := fmt.Fprintf(w, "%s  %s %s\n", phrase.Printable(c.location), phrase.Bytes(facts.Freed), total); err != nil {
		return err
	}
	for _, i := range facts.Items {
		what := "deleted"
		switch {
		case i.Kept != "":
			what = "kept: " + i.Kept
		case dry:
			what = "would be deleted"
		}
		if _, err := fmt.Fprintf(w, "  %s %s, such as %s, %s: %s\n", phrase.Plural(i.Values, "value"), i.Kind, phrase.Printable(i.Keys), phrase.Bytes(i.Bytes), what); err != nil {
			return err
		}
	}
	for _, text := range facts.Notes {
		if _, err := fmt.Fprintf(w, "  note: %s\n", phrase.Printable(text)); err != nil {
			return err
		}
	}
	return nil
}

// vacuumManifest vacuums the folder of a manifest.
func (v *vacuuming) vacuumManifest(cmd *cobra.Command, location string, f *node.ManifestFolder) error {
	if v.giveUp {
		return failure.BadUsage("--give-up: a manifest has no rechunk to give up")
	}
	clean := func(dry bool) (*cleaned, error) {
		r, err := virtual.Vacuum(cmd.Context(), f.Store, f.Path, v.options(dry))
		return &cleaned{location: location, report: r}, failure.On("vacuum", location, err)
	}
	c, err := clean(true)
	if err != nil {
		return err
	}
	if !v.dry && !v.yes {
		// The grace of a value may end any moment: what nobody was asked about stays.
		if !slices.ContainsFunc(c.report.Items, func(i rechunk.VacuumItem) bool { return i.Kept == "" }) {
			return printVacuum(cmd, c, v.dry)
		}
		if err := place.Confirm(cmd, fmt.Sprintf("deletes %s of values that the manifest does not need", phrase.Bytes(c.report.Freed()))); err != nil {
			return err
		}
	}
	if !v.dry {
		if c, err = clean(false); err != nil {
			return err
		}
	}
	return printVacuum(cmd, c, v.dry)
}
