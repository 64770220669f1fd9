// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"

	"github.com/spf13/cobra"
	"varve.dev/zarr"
	"varve.dev/zarr/cmd/varve/internal/dimensions"
	"varve.dev/zarr/cmd/varve/internal/dryrun"
	"varve.dev/zarr/cmd/varve/internal/failure"
	"varve.dev/zarr/cmd/varve/internal/growth"
	"varve.dev/zarr/cmd/varve/internal/node"
	"varve.dev/zarr/cmd/varve/internal/phrase"
	"varve.dev/zarr/cmd/varve/internal/progress"
	"varve.dev/zarr/cmd/varve/internal/session"
	"varve.dev/zarr/metadata"
	"varve.dev/zarr/rewrite"
	"varve.dev/zarr/store"
	"varve.dev/zarr/store/memstore"
	"varve.dev/zarr/store/rehearsal"
	"varve.dev/zarr/store/zipstore"
)

// copyFlags are the flags of varve copy.
type copyFlags struct {
	dry, overwrite, move, yes bool
	singleWriter              *bool
}

func newCopyCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "copy SRC DST",
		Short: "Copy a node with everything below it, within a store or to another one",
		Long: `Copy a node with everything below it, within a store or to another one. DST is the new node itself, and its name may end in .zip,
which makes an archive. Nothing is decoded: chunks, attributes and consolidated metadata are copied as they are stored, in format 2 as
in format 3, and so are nodes with types or codecs that are not known here.

--overwrite removes what is at DST first. Where that is a group with members, or an array that a group is to replace, it asks, and needs
--yes elsewhere. An archive is replaced once the new one is complete, and stays where the copy fails.

--move takes the locks of SRC and all below it once the copy is there, and removes SRC if it is still what was copied. It refuses a SRC behind a
symbolic link, and one with links to what the copy would not have: out of the store, or to nothing. A plain copy is without those, and counts them.

The documents come last, so that a copy which is stopped is not visible; another one to the same place removes what is left
of it. A source that changes its shape or chunks meanwhile is not copied.`,
		Example: `  varve copy era5.zarr/t2m backup.zarr/t2m
  varve copy https://example.org/era5.zarr era5.zip --dry-run`,
		Args:              arguments("SRC", "DST"),
		ValidArgsFunction: node.Complete,
	}
	f := new(copyFlags)
	c.Flags().BoolVar(&f.dry, "dry-run", false, "change nothing, and count what would be copied")
	c.Flags().BoolVar(&f.overwrite, "overwrite", false, "replace what is at DST, with everything below it")
	c.Flags().BoolVar(&f.yes, "yes", false, "do not ask before --overwrite removes a group")
	c.Flags().BoolVar(&f.move, "move", false, "remove SRC once it is copied")
	f.singleWriter = growth.SingleWriterFlag(c)
	c.RunE = func(cmd *cobra.Command, args []string) error { return f.run(cmd, args[0], args[1]) }
	return c
}

// copied is what was copied, as programs read it.
type copied struct {
	Source      string `json:"source"`
	Destination string `json:"destination"`
	DryRun      bool   `json:"dry_run"`
	Moved       bool   `json:"moved"` // in a dry run: it would be
	Arrays      int    `json:"arrays"`
	Groups      int    `json:"groups"`
	Values      int64  `json:"values"`
	Bytes       int64  `json:"bytes"`
	Reserved    int    `json:"reserved_names"` // nodes of format 3 that begin with "__"
	Lost        int    `json:"lost_links"`     // symbolic links to what the copy is without

	removed []string // nodes that --overwrite would remove, of a dry run
}

func (f *copyFlags) run(cmd *cobra.Command, from, to string) (err error) {
	ctx := cmd.Context()
	access := store.Read
	if f.move && !f.dry {
		access = store.Write
	}
	src, err := locate(ctx, from, access)
	if err != nil {
		return err
	}
	defer func() {
		if err = errors.Join(err, letGo(src, true)); err == nil && f.move && !f.dry {
			_ = os.Remove(node.LocalPath(from)) // the folder of a store that is empty now; whatever is in it stays
		}
	}()
	if f.move {
		if err := refuseLink(cmd, from); err != nil {
			return err
		}
	}
	opt := &rewrite.Options{Options: *session.Reading(cmd), DryRun: f.dry, Overwrite: f.overwrite}
	opt.SingleWriter = *f.singleWriter
	do := rewrite.Copy
	if f.move {
		do = rewrite.Move
	}
	err = f.agreed(cmd, src, from, to, opt, func(dst *zarr.Location, opt *rewrite.Options) error {
		_, err := do(ctx, src, dst, opt)
		return err
	})
	if err != nil {
		return err
	}
	dst, err := f.destination(cmd, to)
	if errors.Is(err, fs.ErrExist) && strings.HasSuffix(node.LocalPath(to), ".zip") { // an archive, of which no more than a name is looked at
		return fmt.Errorf("%w (--overwrite replaces it)", err)
	}
	if err != nil {
		return err
	}
	p := progress.NewEstimate(cmd, "copying", 0, progress.MovedBytes)
	stop := measureCopy(ctx, p, from, session.Reading(cmd))
	r, err := do(ctx, src, dst, opt)
	stop()
	p.End()
	if err != nil {
		return intoGroup(cmd, from, to, f.stopped(cmd, from, to, src, dst, err))
	}
	if err := letGo(dst, true); err != nil {
		return atLocation(cmd.Name(), from, src, err)
	}
	f.noteDimensions(cmd, from, to)
	noteFolder(cmd, to)
	c := copied{from, to, f.dry, f.move, r.Arrays, r.Groups, r.Values, r.Bytes, r.Reserved, r.Lost, f.removed(ctx, to)}
	switch {
	case session.WantsJSON(cmd) && f.dry:
		p, err := c.plan(cmd)
		return errors.Join(err, session.PrintJSON(cmd, p))
	case session.WantsJSON(cmd):
		return session.PrintJSON(cmd, c)
	}
	return c.print(cmd.OutOrStdout())
}

// removed returns the nodes that --overwrite would remove at the destination of a dry
// run.
func (f *copyFlags) removed(ctx context.Context, to string) []string {
	if !f.dry || !f.overwrite {
		return nil
	}
	return node.Below(ctx, to)
}

// intoGroup adds to the error for a destination that is a group how a node is put into
// it.
func intoGroup(cmd *cobra.Command, from, to string, err error) error {
	var e *zarr.Error
	if !errors.Is(err, fs.ErrExist) || !errors.As(err, &e) {
		return err
	}
	g, failed := zarr.OpenGroup(cmd.Context(), to, nil)
	if failed != nil {
		return err
	}
	e.Err = fmt.Errorf("%w; %s/%s puts it into the group", e.Err, node.Clean(to), path.Base(node.Clean(from)))
	return errors.Join(err, g.Close())
}

// noteDimensions notes where the copy, or the one that would be made, differs in length
// from other arrays of its group.
func (f *copyFlags) noteDimensions(cmd *cobra.Command, from, to string) {
	a, err := f.copyOf(cmd.Context(), from, to)
	if err == nil {
		dimensions.Note(cmd, to, a)
		_ = a.Close() // it was read only
	}
}

// copyOf opens the array that was copied, or the one that a dry run would make.
func (f *copyFlags) copyOf(ctx context.Context, from, to string) (*zarr.Array, error) {
	if !f.dry {
		return zarr.OpenArray(ctx, to, nil)
	}
	a, err := zarr.OpenArray(ctx, from, nil)
	if err != nil {
		return nil, err
	}
	defer a.Close()
	opt := &zarr.CreateOptions{Overwrite: f.overwrite}
	opt.Rehearsal = new(rehearsal.Ledger)
	return zarr.CreateArray(ctx, to, a.Spec(), opt)
}

// refuseLink refuses a local location that is a symbolic link, and says where it leads.
func refuseLink(cmd *cobra.Command, location string) error {
	target, err := os.Readlink(node.LocalPath(location))
	if err != nil {
		return nil // no link
	}
	return failure.On(cmd.Name(), location, failure.BadArgument("it is a symbolic link to %s; name what it leads to, or remove the link", target))
}

// agreed asks before --overwrite removes more than the array that an array replaces. do
// copies to a place.
func (f *copyFlags) agreed(
	cmd *cobra.Command, src *zarr.Location, from, to string, opt *rewrite.Options, do func(*zarr.Location, *rewrite.Options) error,
) error {
	if f.overwrite {
		if err := refuseLink(cmd, to); err != nil {
			return err
		}
	}
	if !f.overwrite || f.yes || f.dry || node.LocalPath(from) == node.LocalPath(to) {
		return nil // of these nothing is removed
	}
	n, err := src.Metadata(cmd.Context(), nil)
	_, isArray := n.(*metadata.Array)
	if err != nil && !errors.Is(err, metadata.ErrUnsupported) {
		return nil // the copy says so
	}
	return mayReplace(cmd, to, isArray, func() error {
		dst, err := locate(cmd.Context(), to, store.Read)
		if err != nil {
			return err
		}
		try := *opt
		try.Observer, try.DryRun = nil, true
		err = do(dst, &try)
		if errors.Is(err, rewrite.ErrManyMissing) {
			err = nil // that is the next question
		}
		_, archive := store.Driver(dst.Store()).(*zipstore.Store) // is replaced as a whole
		if err = errors.Join(atLocation(cmd.Name(), from, src, err), letGo(dst, true)); archive || err != nil {
			return err
		}
		o := opt.Options
		o.Write = true
		if err := deletable(cmd, to, &o); err != nil || !f.move {
			return err
		}
		return deletable(cmd, from, &o)
	})
}

// measureCopy counts in the background how many bytes there are to copy, for a line of
// progress that is shown.
func measureCopy(ctx context.Context, p *progress.Line, from string, o *zarr.Options) (stop func()) {
	if !p.IsShown() {
		return func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		at, err := zarr.Locate(ctx, from, store.Read)
		if err != nil {
			return // the copy says so
		}
		defer func() { _ = letGo(at, true) }()
		o.Observer = nil
		r, err := rewrite.Copy(ctx, at, zarr.At(memstore.New(), ""), &rewrite.Options{Options: *o, DryRun: true})
		if err == nil {
			p.SetTotal(r.Bytes)
		}
	}()
	return func() { cancel(); <-done }
}

// stopped lets go of a destination that did not become a copy, and returns err with what
// to do about what was copied so far.
func (f *copyFlags) stopped(cmd *cobra.Command, from, to string, src, dst *zarr.Location, err error) error {
	begun, lookErr := rewrite.Unfinished(context.WithoutCancel(cmd.Context()), dst)
	_, archive := store.Driver(dst.Store()).(*zipstore.Archive) // is given up whole
	err = atLocation(cmd.Name(), from, src, errors.Join(err, letGo(dst, false)))
	if f.dry {
		return err
	}
	if info, lookErr := os.Lstat(node.LocalPath(to)); lookErr == nil && info.IsDir() {
		_ = os.Remove(node.LocalPath(to)) // one that was made for nothing; whatever is in it stays
	}
	if begun && lookErr == nil && !archive {
		return failure.Leftover(err, "what is at %s so far is not visible: repeat the command, which begins anew, or remove it with varve rm", to)
	}
	return err
}

// copyPlan is what a copy would do, as programs read it.
type copyPlan struct {
	dryrun.Head
	*copied
	dryrun.Counts // what is dropped is the source of a move; what --overwrite removes is not counted
}

// plan returns the plan of the copy that was counted.
func (c *copied) plan(cmd *cobra.Command) (p copyPlan, err error) {
	p.Head = dryrun.Head{Operation: cmd.Name(), Node: c.Source, Target: &c.Destination, Strategy: "copy-publish", Guarantee: dryrun.Guarantee(cmd)}
	p.copied = c
	p.Counts = dryrun.Counts{
		New: new(int64), Rewritten: new(int64), Copied: &c.Values,
		Removed:   c.removed,
		BytesRead: &c.Bytes, BytesCopied: &c.Bytes, BytesDecoded: new(int64), BytesEncoded: new(int64), BytesWritten: &c.Bytes,
	}
	gone := dryrun.Stage{Name: "delete", Tasks: 0}
	if c.Moved {
		p.Strategy, p.Dropped, p.BytesDropped = "copy-publish-delete", &c.Values, &c.Bytes
		gone.Tasks = c.Values
	}
	if !c.Moved && p.Guarantee == "atomic" {
		p.Dropped, p.BytesDropped = new(int64), new(int64)
	}
	p.Stages = dryrun.Stages(dryrun.Stage{Name: "copy", Tasks: c.Values}, dryrun.Stage{Name: "publish", Tasks: int64(c.Arrays + c.Groups)}, gone)
	p.Fingerprint, err = dryrun.Fingerprint(p)
	return p, err
}

func (c *copied) print(w io.Writer) error {
	done := "copied"
	switch {
	case c.DryRun && c.Moved:
		done = "to move, nothing was changed"
	case c.DryRun:
		done = "to copy, nothing was changed"
	case c.Moved:
		done = "moved"
	}
	_, err := fmt.Fprintf(w, "%s  %s and %s with %s, %s: %s\n", phrase.Printable(c.Destination),
		phrase.Plural(int64(c.Arrays), "array"), phrase.Plural(int64(c.Groups), "group"), phrase.Plural(c.Values, "stored value"), phrase.Bytes(c.Bytes), done)
	return errors.Join(err, printRemoved(w, c.removed), noteLost(w, c.Lost), noteReserved(w, c.Reserved))
}

// printRemoved names the nodes that --overwrite would remove, if there are any.
func printRemoved(w io.Writer, nodes []string) error {
	if len(nodes) == 0 {
		return nil
	}
	_, err := fmt.Fprintf(w, "  would remove  %s\n", dryrun.RemovedText(nodes))
	return err
}

// noteLost says how many symbolic links a copy is without.
func noteLost(w io.Writer, n int) error {
	lead := "lead"
	switch n {
	case 0:
		return nil
	case 1:
		lead = "leads"
	}
	_, err := fmt.Fprintf(w, "  note  %s %s out of the store or to nothing: not copied\n", phrase.Plural(int64(n), "symbolic link"), lead)
	return err
}

// noteReserved says how many nodes keep a name that format 3 reserves.
func noteReserved(w io.Writer, n int) error {
	if n == 0 {
		return nil
	}
	_, err := fmt.Fprintf(w, "  note  %s of format 3 with a name that begins with \"__\", which that format reserves: kept as it is\n", phrase.Plural(int64(n), "node"))
	return err
}

// locate returns the place that a location names.
func locate(ctx context.Context, location string, access store.Access) (*zarr.Location, error) {
	at, err := zarr.Locate(ctx, location, access)
	if err != nil {
		return nil, err
	}
	return at.Observed(session.ObserverOf(ctx)), nil
}

// atLocation returns err as one about the node at a location, where package rewrite knows
// its path in the store only.
func atLocation(op, location string, at *zarr.Location, err error) error {
	var e *zarr.Error
	if errors.As(err, &e) && e.Path == at.Path() {
		e.Path = location
	}
	return failure.On(op, location, err)
}

// destination returns the place of the copy. A dry run makes none: one that is not there
// is as good as empty.
func (f *copyFlags) destination(cmd *cobra.Command, location string) (*zarr.Location, error) {
	ctx := cmd.Context()
	if f.overwrite && !f.dry {
		if p, ok, err := replacedArchive(ctx, location); ok || err != nil {
			return p, err
		}
	}
	if !f.dry {
		return locate(ctx, location, store.Create)
	}
	p, err := locate(ctx, location, store.Read)
	if errors.Is(err, fs.ErrNotExist) {
		return zarr.At(memstore.New(), ""), nil
	}
	return p, err
}

// replacedArchive begins an archive in place of the one at a location. It is false where
// none is there.
func replacedArchive(ctx context.Context, location string) (*zarr.Location, bool, error) {
	name := node.LocalPath(location)
	info, err := os.Lstat(name)
	if err != nil || !info.Mode().IsRegular() || !strings.HasSuffix(name, ".zip") {
		return nil, false, nil
	}
	old, err := locate(ctx, location, store.Read)
	if err == nil {
		err = letGo(old, true)
	}
	if err != nil { // whatever it is, it is not what was meant
		return nil, false, failure.On("copy", location, failure.BadArgument("--overwrite replaces an archive, and this is none; remove it first: %w", err))
	}
	a, err := zipstore.Replace(name)
	if err != nil {
		return nil, false, failure.On("copy", location, err)
	}
	return zarr.At(a, "").Observed(session.ObserverOf(ctx)), true, nil
}

// letGo closes the store of a place. An archive appears then, or is given up.
func letGo(p *zarr.Location, done bool) error {
	s := p.Store()
	if a, ok := store.Driver(s).(*zipstore.Archive); ok && !done {
		return a.Discard()
	}
	if c, ok := store.As[io.Closer](s); ok {
		return c.Close()
	}
	return nil
}
