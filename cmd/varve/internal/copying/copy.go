// SPDX-License-Identifier: Apache-2.0

// Package copying has the commands that make a node of another one: copy, materialize,
// convert, filter and pyramid.
package copying

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"varve.dev/zarr"
	"varve.dev/zarr/cmd/varve/internal/cost"
	"varve.dev/zarr/cmd/varve/internal/dimensions"
	"varve.dev/zarr/cmd/varve/internal/dryrun"
	"varve.dev/zarr/cmd/varve/internal/failure"
	"varve.dev/zarr/cmd/varve/internal/growth"
	"varve.dev/zarr/cmd/varve/internal/node"
	"varve.dev/zarr/cmd/varve/internal/phrase"
	"varve.dev/zarr/cmd/varve/internal/place"
	"varve.dev/zarr/cmd/varve/internal/planfile"
	"varve.dev/zarr/cmd/varve/internal/progress"
	"varve.dev/zarr/cmd/varve/internal/session"
	"varve.dev/zarr/cmd/varve/internal/usage"
	"varve.dev/zarr/convert"
	"varve.dev/zarr/icechunk"
	"varve.dev/zarr/internal/archive"
	"varve.dev/zarr/internal/codecs/numcodecs"
	"varve.dev/zarr/internal/copying"
	"varve.dev/zarr/internal/own"
	"varve.dev/zarr/internal/rehearsal"
	"varve.dev/zarr/metadata"
	"varve.dev/zarr/store"
	"varve.dev/zarr/store/memstore"
	"varve.dev/zarr/transfer"
	"varve.dev/zarr/virtual"
)

// copyFlags are the flags of varve copy.
type copyFlags struct {
	dry, overwrite, move, yes bool
	singleWriter              *bool
	synced                    syncFlags
}

// NewCopy returns the command copy.
func NewCopy() *cobra.Command {
	c := &cobra.Command{
		Use:   "copy SRC DST",
		Short: "Copy a node and everything below it, within a store or to another one",
		Long: `Copy a node and everything below it, within a store or to another one. DST is the new node itself,
not its parent. A name that ends in .zip makes an archive, and one that ends in .ozx an archive of
one hierarchy of OME-Zarr. Nothing is decoded: the stored bytes of chunks, attributes and
consolidated metadata are copied, in both formats, even for data types or codecs that Varve does not
know. Chunks that no document describes, such as those that a rechunk has replaced, are left out and
counted; --move takes them along. --sync makes DST equal to SRC, and copies only what differs.`,
		Example: `  varve copy era5.zarr/t2m backup.zarr/t2m
  varve copy era5.zarr mirror.zarr --sync`,
		Args:              usage.Arguments("SRC", "DST"),
		ValidArgsFunction: node.Complete,
	}
	f := new(copyFlags)
	c.Flags().BoolVar(&f.dry, "dry-run", false, "change nothing, and count what would be copied")
	c.Flags().BoolVar(&f.overwrite, "overwrite", false, "replace the node at DST and everything below it")
	c.Flags().BoolVar(&f.yes, "yes", false, "do not ask before --overwrite removes a group, or --delete anything")
	c.Flags().BoolVar(&f.move, "move", false, "remove SRC after it is copied")
	f.synced.define(c.Flags())
	planfile.Flag(c, &f.synced.planTo)
	c.Flags().Lookup("plan").Usage = "with --sync, only write the plan to `FILE`, for varve run"
	cost.PricesFlag(c, &f.synced.pricesFrom)
	c.Flags().Lookup("prices").Usage = "with --sync and --dry-run or --plan, " + c.Flags().Lookup("prices").Usage
	f.singleWriter = growth.SingleWriterFlag(c)
	c.RunE = func(cmd *cobra.Command, args []string) error {
		if err := f.synced.check(cmd, args[1]); err != nil {
			return err
		}
		if f.synced.on {
			return f.sync(cmd, args[0], args[1])
		}
		return f.run(cmd, args[0], args[1])
	}
	return c
}

// copied is the result of the command, in the form of --json.
type copied struct {
	Source      string `json:"source"`
	Destination string `json:"destination"`
	DryRun      bool   `json:"dry_run"`
	Moved       bool   `json:"moved"` // in a dry run: would be
	Arrays      int    `json:"arrays"`
	Groups      int    `json:"groups"`
	Values      int64  `json:"values"`
	Bytes       int64  `json:"bytes"`
	Reserved    int    `json:"reserved_names"` // nodes of format 3 that begin with "__"
	Other       int64  `json:"values_other"`   // of SRC, not copied
	// Anew are the arrays of a virtual SRC whose chunks are encoded again, because most
	// programs cannot read or write them as they are. Their paths are below DST.
	Anew []string `json:"arrays_encoded_anew,omitempty"`

	removed []string // nodes that --overwrite would remove; only in a dry run
}

func (f *copyFlags) run(cmd *cobra.Command, from, to string) (err error) {
	defer func() { err = failure.InOperation(cmd.Name(), withoutArray(cmd, from, to, err)) }() // of materialize, too
	ctx := cmd.Context()
	if f.move {
		if err := mayMove(cmd, from, to); err != nil {
			return err
		}
	}
	access, do := store.ReadOnly, transfer.Copy
	if f.move {
		do = transfer.Move
	}
	if f.move && !f.dry {
		// A move deletes the source.
		access = store.ReadWrite
	}
	src, err := place.Locate(ctx, from, access)
	if err != nil {
		return err
	}
	defer func() {
		if err = errors.Join(err, place.Close(src, true)); err == nil && f.move && !f.dry {
			// Remove the folder of a store that is now empty. Remove fails if it is not.
			_ = os.Remove(node.LocalPath(from))
		}
	}()
	opt := &transfer.Options{Options: *session.Reading(cmd), DryRun: f.dry, Overwrite: f.overwrite}
	opt.SingleWriter = *f.singleWriter
	anew := map[string]string{}
	if isMisordered(cmd, from) && !f.move {
		do = func(ctx context.Context, src, dst *zarr.Location, opt *transfer.Options) (transfer.Report, error) {
			clear(anew)
			return convert.Derive(ctx, src, dst, convert.Derivation{Anew: func(path, reason string) { anew[path] = reason }}, opt)
		}
	}
	err = f.agreed(cmd, src, from, to, &opt.Options, func(dst *zarr.Location, trial zarr.Options) error {
		_, err := do(ctx, src, dst, &transfer.Options{Options: trial, DryRun: true, Overwrite: f.overwrite})
		return err
	})
	if err != nil {
		return err
	}
	r, err := f.copyTo(cmd, src, from, to, func(dst *zarr.Location) (transfer.Report, error) { return do(ctx, src, dst, opt) })
	if err != nil {
		return err
	}
	f.noteDimensions(cmd, from, to)
	place.NoteFolder(cmd, to)
	for _, name := range slices.Sorted(maps.Keys(anew)) {
		session.Remark(cmd, strings.TrimSuffix(node.Clean(to)+"/"+name, "/"), "encoded anew, because "+anew[name])
	}
	c := copied{from, to, f.dry, f.move, r.Arrays, r.Groups, r.Values, r.Bytes, r.Reserved, r.Superseded, slices.Sorted(maps.Keys(anew)), f.removed(ctx, to)}
	switch {
	case session.WantsJSON(cmd) && f.dry:
		p, err := c.plan(cmd)
		return errors.Join(err, session.PrintJSON(cmd, p))
	case session.WantsJSON(cmd):
		return session.PrintJSON(cmd, c)
	}
	return c.print(cmd.OutOrStdout())
}

// isMisordered reports whether arrays of a virtual source have codecs in an order of HDF5
// that other programs do not read. A copy of a real array keeps its bytes in any case.
func isMisordered(cmd *cobra.Command, from string) bool {
	if !node.IsVirtual(from) && !node.IsReferences(from) {
		return false
	}
	n, err := node.Open(cmd, from)
	if err != nil {
		return false // the copy reports it
	}
	defer n.Close()
	is := false
	look := func(a *zarr.Array) {
		_, wrong := numcodecs.Reordered(a.Metadata().Codecs, a.Type().Size())
		is = is || wrong
	}
	switch n := n.(type) {
	case *zarr.Array:
		look(n)
	case *zarr.Group:
		for m, err := range n.Members(cmd.Context(), true) {
			if a, isArray := m.Node.(*zarr.Array); err == nil && isArray {
				look(a)
			}
		}
	}
	return is
}

// copyTo opens the destination, copies to it by do, and closes it.
func (f *copyFlags) copyTo(
	cmd *cobra.Command, src *zarr.Location, from, to string, do func(dst *zarr.Location) (transfer.Report, error),
) (transfer.Report, error) {
	dst, err := f.destination(cmd, to)
	if errors.Is(err, fs.ErrExist) && own.IsArchive(node.LocalPath(to)) {
		err = fmt.Errorf("%w (--overwrite replaces it)", err) // an existing archive
	}
	if err != nil {
		return transfer.Report{}, err
	}
	p := progress.NewEstimate(cmd, "copying", 0, progress.MovedBytes)
	stop := measureCopy(cmd.Context(), p, from, session.Reading(cmd))
	r, err := do(dst)
	stop()
	p.End()
	if err != nil {
		return r, intoGroup(cmd, from, to, f.stopped(cmd, from, to, src, dst, err, "starts over"))
	}
	if err := place.Close(dst, true); err != nil {
		return r, place.Named(cmd.Name(), from, src, err)
	}
	return r, nil
}

// removed returns the nodes that --overwrite would remove at the destination. It returns
// nil unless this is a dry run.
func (f *copyFlags) removed(ctx context.Context, to string) []string {
	if !f.dry || !f.overwrite {
		return nil
	}
	return node.Below(ctx, to)
}

// intoGroup adds a hint to the error for a destination that exists and is a group: the
// location that puts the node into the group.
func intoGroup(cmd *cobra.Command, from, to string, err error) error {
	var e *zarr.Error
	if !errors.Is(err, fs.ErrExist) || !errors.As(err, &e) {
		return err
	}
	// Unlike cp, copy does not put SRC into an existing folder. Say how to do that.
	g, failed := zarr.OpenGroup(cmd.Context(), to, nil)
	if failed != nil {
		return err
	}
	name := path.Base(node.Clean(from))
	if suffix := path.Ext(name); suffix != ".zarr" { // the copy is no manifest, file or archive
		name = strings.TrimSuffix(name, suffix)
	}
	e.Err = fmt.Errorf("%w; %s puts it into the group", e.Err, node.InGroup(to, name))
	return errors.Join(err, g.Close())
}

// noteDimensions prints a note if the copy, or the one that a dry run would make, differs
// in length from other arrays of its group.
func (f *copyFlags) noteDimensions(cmd *cobra.Command, from, to string) {
	a, err := f.copyOf(cmd.Context(), from, to)
	if err == nil {
		dimensions.Note(cmd, to, a)
		_ = a.Close() // nothing was written
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

// mayMove returns an error if a source must not be removed after it is copied.
func mayMove(cmd *cobra.Command, from, to string) error {
	if node.IsRepository(to) {
		return failure.On(cmd.Name(), to, failure.BadArgument(
			"the copy in a repository is there only after the commit, and --move would remove SRC before: copy first, then remove SRC with varve rm"))
	}
	// Removing the target would leave a broken link, and removing the link would leave
	// the data.
	return refuseLink(cmd, from)
}

// refuseLink returns an error with the target if a local location is a symbolic link.
func refuseLink(cmd *cobra.Command, location string) error {
	target, err := os.Readlink(node.LocalPath(location))
	if err != nil {
		return nil // not a link
	}
	return failure.On(cmd.Name(), location, failure.BadArgument("it is a symbolic link to %s; name its target, or remove the link", target))
}

// agreed asks before --overwrite removes anything but an array that another array
// replaces. Before it asks, it calls try, which does the copy as a dry run. It returns
// an error without an answer, or after the answer no.
func (f *copyFlags) agreed(
	cmd *cobra.Command, src *zarr.Location, from, to string, opt *zarr.Options, try func(*zarr.Location, zarr.Options) error,
) error {
	if f.overwrite {
		if err := refuseLink(cmd, to); err != nil {
			return err
		}
	}
	if !f.overwrite || f.yes || f.dry || node.LocalPath(from) == node.LocalPath(to) {
		return nil // nothing is removed, or there is no need to ask
	}
	// An array of unknown codecs can be copied, too, so its document is enough.
	n, err := src.Metadata(cmd.Context(), nil)
	_, isArray := n.(*metadata.Array)
	if err != nil && !errors.Is(err, metadata.ErrUnsupported) {
		return nil // the copy reports it
	}
	return place.ConfirmReplacement(cmd, to, isArray, func() error {
		dst, err := place.Locate(cmd.Context(), to, store.ReadOnly)
		if err != nil {
			return err
		}
		trial := *opt
		trial.Observer = nil // --stats must not count the trial
		err = try(dst, trial)
		if errors.Is(err, convert.ErrManyMissing) {
			err = nil // permitted asks about these next
		}
		replaced := archive.IsZip(dst.Store()) && !archive.IsNew(dst.Store()) // as a whole
		if err = errors.Join(place.Named(cmd.Name(), from, src, err), place.Close(dst, true)); replaced || err != nil {
			return err
		}
		o := *opt
		o.Write = true
		if err := place.CheckDeletable(cmd, to, &o); err != nil || !f.move {
			return err
		}
		return place.CheckDeletable(cmd, from, &o)
	})
}

// measureCopy counts the bytes to copy in the background, and gives the sum to a progress
// line. It does nothing if the line is not shown. The caller must call stop.
func measureCopy(ctx context.Context, p *progress.Line, from string, o *zarr.Options) (stop func()) {
	if !p.IsShown() {
		return func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		at, err := zarr.Locate(ctx, from, store.ReadOnly)
		if err != nil {
			return // the copy reports it
		}
		defer func() { _ = place.Close(at, true) }()
		o.Observer = nil
		r, err := transfer.Copy(ctx, at, zarr.At(memstore.New(), ""), &transfer.Options{Options: *o, DryRun: true})
		if err == nil {
			p.SetTotal(r.Bytes)
		}
	}()
	// Wait for the goroutine, so that it never sets the total of a line that has ended.
	return func() { cancel(); <-done }
}

// stopped closes a destination after a failed copy. It returns err, with advice if the
// copy has left something there. does is what the repeated command does with it.
func (f *copyFlags) stopped(cmd *cobra.Command, from, to string, src, dst *zarr.Location, err error, does string) error {
	// The copy may have stopped because the context was cancelled. The look must still
	// work.
	begun, lookErr := place.IsHidden(context.WithoutCancel(cmd.Context()), dst)
	discarded := archive.IsNew(dst.Store()) // as a whole
	err = place.Named(cmd.Name(), from, src, errors.Join(err, place.Close(dst, false)))
	if f.dry {
		return err
	}
	place.RemoveEmpty(to)
	switch {
	case !begun || lookErr != nil || discarded:
		return unread(cmd, from, err, "")
	case isUnread(err):
		return unread(cmd, from, err, fmt.Sprintf("; the incomplete copy at %s is not visible: the repeated command %s, or remove it with varve rm", to, does))
	}
	return failure.Leftover(err, "the incomplete copy at %s is not visible: repeat the command, which %s, or remove it with varve rm", to, does)
}

// isUnread reports whether a value of the source could not be read.
func isUnread(err error) bool { return errors.As(err, new(*copying.ReadError)) }

// withoutArray adds to the error for an array of a foreign file that cannot be shown what
// copies the others of a group.
func withoutArray(cmd *cobra.Command, from, to string, err error) error {
	if !node.IsUnsupported(from, err) {
		return err
	}
	if many, lookErr := node.IsGroup(cmd, from); !many || lookErr != nil {
		return err
	}
	file := node.ForeignFile(from)
	manifest := strings.TrimSuffix(path.Base(file), path.Ext(file)) + virtual.Suffix
	return failure.Leftover(err, "varve virtualize %s -o %s leaves such arrays out, and varve materialize %s %s then copies the others",
		phrase.Word(file), phrase.Word(manifest), phrase.Word(manifest+strings.TrimPrefix(node.Clean(from), file)), phrase.Word(to))
}

// unread returns an error with advice, and with the state of the copy, if a value of the
// source could not be read. A repeated command stops there again.
func unread(cmd *cobra.Command, from string, err error, state string) error {
	if !isUnread(err) {
		return err
	}
	if errors.Is(err, virtual.ErrNotAllowed) { // it says what helps, and nothing is wrong with the source
		return failure.Leftover(err, "without it the command stops there again%s", state)
	}
	others := ""
	if many, lookErr := node.IsGroup(cmd, from); many && lookErr == nil {
		others = ", or copy other nodes with varve copy --sync --node PATTERN"
	}
	return failure.Leftover(err, "mend the source first, because the command stops there again%s%s", others, state)
}

// copyPlan is the plan of a dry run, in the form of --json. Its dropped chunks are those
// of the source of a move; what --overwrite removes is not counted.
type copyPlan struct {
	dryrun.Head
	*copied
	dryrun.Counts
}

// plan returns the plan of a dry run.
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
	// With --overwrite the number of dropped chunks is unknown, and stays null.
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
	case c.inRepository() && !c.DryRun && !c.Moved:
		done = "copied as references to the same chunks"
	case c.DryRun && c.Moved:
		done = "to move, nothing was changed"
	case c.DryRun:
		done = "to copy, nothing was changed"
	case c.Moved:
		done = "moved"
	}
	_, err := fmt.Fprintf(w, "%s  %s and %s with %s, %s: %s\n", phrase.Printable(c.Destination),
		phrase.Plural(int64(c.Arrays), "array"), phrase.Plural(int64(c.Groups), "group"), phrase.Plural(c.Values, "stored value"), phrase.Bytes(c.Bytes), done)
	return errors.Join(err, printRemoved(w, c.removed), noteOther(w, c.Other), noteReserved(w, c.Reserved))
}

// inRepository reports whether the copy is within one repository of Icechunk, where it
// stores no chunk.
func (c *copied) inRepository() bool {
	a, _, _, err := icechunk.ParseLocation(c.Source)
	b, _, _, failed := icechunk.ParseLocation(c.Destination)
	return err == nil && failed == nil && a == b && node.IsRepository(c.Source)
}

// printRemoved prints the nodes that --overwrite would remove, if there are any.
func printRemoved(w io.Writer, nodes []string) error {
	if len(nodes) == 0 {
		return nil
	}
	_, err := fmt.Fprintf(w, "  would remove  %s\n", dryrun.RemovedText(nodes))
	return err
}

// noteOther prints the number of values that were left out, if any.
func noteOther(w io.Writer, n int64) error {
	if n == 0 {
		return nil
	}
	_, err := fmt.Fprintf(w, "  note  not copied: %s\n", otherText(n))
	return err
}

// otherText describes values of SRC that are not copied.
func otherText(n int64) string {
	return phrase.Plural(n, "value") + " of SRC that no document describes"
}

// noteReserved prints the number of nodes whose name format 3 reserves, if any.
func noteReserved(w io.Writer, n int) error {
	if n == 0 {
		return nil
	}
	_, err := fmt.Fprintf(w, "  note  kept: %s of format 3 with a name that begins with \"__\", which that format reserves\n", phrase.Plural(int64(n), "node"))
	return err
}

// NewMaterialize returns the command materialize.
func NewMaterialize() *cobra.Command {
	c := NewCopy()
	c.Use = "materialize SRC DST"
	c.Short = "Copy a virtual array, or a group of them, into a real one"
	c.Long = `Copy a virtual array, or a group of them, into a real one. SRC is in a manifest of varve virtualize, such as
archive.vz/t2m. The bytes of chunks are copied as they are in the foreign files; rechunk SRC DST makes other chunks of
an array on the way.

It is varve copy in all but its name. The documents are stored last, so an interrupted copy is not visible. Another one
to the same place removes what it left.`
	c.Example = `  varve materialize archive.vz archive.zarr
  varve rechunk archive.vz/t t.zarr --chunks 31,4,5`
	for _, name := range []string{"move", "sync", "plan", "prices"} { // the last two need --sync
		c.Flags().Lookup(name).Hidden = true
	}
	new(syncFlags).needing().VisitAll(func(f *pflag.Flag) { c.Flags().Lookup(f.Name).Hidden = true })
	c.Flags().Lookup("yes").Usage = "do not ask before --overwrite removes a group"
	return c
}

// destination opens the location of the copy, as newPlace does.
func (f *copyFlags) destination(cmd *cobra.Command, location string) (*zarr.Location, error) {
	ctx := cmd.Context()
	if f.overwrite && !f.dry {
		// An old archive stays until the new one is complete.
		if p, ok, err := place.ReplacedArchive(ctx, location); ok || err != nil {
			return p, err
		}
	}
	return place.New(cmd, location, f.dry)
}

// Transfer copies a node to a repository of Icechunk, or out of one, as varve copy does.
// A node of format 2 becomes one of format 3.
func Transfer(cmd *cobra.Command, from, to string, dry, overwrite, yes bool) error {
	n, err := node.Open(cmd, from)
	if err == nil && n.Format() == 2 {
		c := &convertFlags{to: "3", dry: dry, overwrite: overwrite, yes: yes, singleWriter: new(bool)}
		return errors.Join(c.convertTo(cmd, from, to), n.Close())
	}
	if err == nil { // else the copy reports it, or needs no more than documents
		if err := n.Close(); err != nil {
			return err
		}
	}
	f := &copyFlags{dry: dry, overwrite: overwrite, yes: yes, singleWriter: new(bool)}
	return f.run(cmd, from, to)
}
