// SPDX-License-Identifier: Apache-2.0

// Package virtualizing has the command virtualize, which makes manifests of files of
// other formats.
package virtualizing

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"varve.dev/zarr"
	"varve.dev/zarr/cmd/varve/internal/dryrun"
	"varve.dev/zarr/cmd/varve/internal/failure"
	"varve.dev/zarr/cmd/varve/internal/input"
	"varve.dev/zarr/cmd/varve/internal/node"
	"varve.dev/zarr/cmd/varve/internal/phrase"
	"varve.dev/zarr/cmd/varve/internal/place"
	"varve.dev/zarr/cmd/varve/internal/planfile"
	"varve.dev/zarr/cmd/varve/internal/progress"
	"varve.dev/zarr/cmd/varve/internal/session"
	"varve.dev/zarr/internal/job"
	"varve.dev/zarr/internal/kerchunk"
	"varve.dev/zarr/internal/own"
	"varve.dev/zarr/internal/remedy"
	"varve.dev/zarr/store"
	"varve.dev/zarr/virtual"
)

// virtualizeFlags are the flags of varve virtualize.
type virtualizeFlags struct {
	out, concat, stack string
	merge, more, dry   bool
	overwrite, yes     bool
	copyPadded         bool
	without            []string // patterns of paths of arrays
	compare            bool
	atOnce, records    int
	planTo             string
}

// NewVirtualize returns the command virtualize.
func NewVirtualize() *cobra.Command {
	c := &cobra.Command{
		Use:   "virtualize FILE… -o OUT",
		Short: "Show foreign files as one Zarr hierarchy, without copying their bytes",
		Long: `Show foreign files as one Zarr hierarchy, without copying their bytes. OUT is a small manifest of
references: which bytes of which file are the chunks of each array. Its name ends in .vz. Every
command reads it like a store, as archive.vz/t2m, and so do Go programs that import package virtual.
No other program does: varve materialize copies it into a node that all can read. With a name that
ends in .json, .parq or .parquet, OUT has references as kerchunk has them, for Python. With a node
in a repository of Icechunk, the chunks become virtual chunks of it, in one commit.

--concat puts arrays with a dimension one after the other along it. --stack gives all arrays a new
first axis. Without either, files add different arrays.`,
		Example: `  varve virtualize 'data/*.nc' --concat time -o archive.vz`,
	}
	f := new(virtualizeFlags)
	c.Flags().StringVarP(&f.out, "output", "o", "", "the `OUT` to make, a name that ends in "+outSuffixes)
	c.Flags().StringVar(&f.concat, "concat", "", "put arrays with the dimension `DIM` one after the other along it")
	c.Flags().StringVar(&f.stack, "stack", "", "give arrays a new first axis `DIM` with one index for each file")
	c.Flags().BoolVar(&f.merge, "merge", false, "every file adds other arrays; the default")
	c.Flags().BoolVar(&f.more, "append", false, "add files to a manifest that exists")
	c.Flags().BoolVar(&f.copyPadded, "copy-padded", false, "copy chunks at the ends of files that are stored with padding")
	c.Flags().StringArrayVar(&f.without, "without", nil, "leave out arrays whose paths match the `PATTERN`, such as crs or 'diag/*'; may be repeated")
	c.Flags().BoolVar(&f.compare, "compare", false, "read and compare all arrays that files repeat, also those of more than 1 MiB")
	c.Flags().BoolVar(&f.dry, "dry-run", false, "write nothing, and print the arrays that would result")
	c.Flags().BoolVar(&f.overwrite, "overwrite", false, "replace a node in a repository and everything below it, in one commit")
	c.Flags().BoolVar(&f.yes, "yes", false, "do not ask before --overwrite removes a group")
	c.Flags().IntVar(&f.records, "record-size", 0, "put `N` references into each Parquet file; the default is 10,000")
	c.Flags().IntVar(&f.atOnce, "concurrency", 0, "scan `N` files at once; the default is 16")
	planfile.Flag(c, &f.planTo)
	c.Args = func(cmd *cobra.Command, args []string) error { return f.check(args) }
	c.RunE = func(cmd *cobra.Command, args []string) error { return f.run(cmd, args) }
	return c
}

func (f *virtualizeFlags) check(args []string) error {
	if out := strings.TrimSuffix(f.out, "/"); !strings.HasSuffix(out, kerchunk.Suffix) { // that one is a file
		f.out = out
	}
	how := 0
	for _, given := range []bool{f.concat != "", f.stack != "", f.merge} {
		if given {
			how++
		}
	}
	switch {
	case len(args) == 0:
		return failure.BadUsage("which files? Name them, a pattern such as 'data/*.nc', or - for a list on standard input")
	case f.out == "":
		return failure.BadUsage("-o OUT is missing: the name of the manifest to make, such as -o archive%s", virtual.Suffix)
	case node.IsRepository(f.out) && (f.more || f.planTo != ""):
		return failure.BadUsage("--append and --plan are for a manifest (%s); a repository gets all files in one commit", virtual.Suffix)
	case f.overwrite && !node.IsRepository(f.out):
		return failure.BadUsage("--overwrite is for a node in a repository: --append brings a manifest (%s) up to date", virtual.Suffix)
	case !f.isManifest() && !f.isJSON() && !f.isParquet() && !node.IsRepository(f.out):
		return failure.BadUsage("--output: the name of a manifest ends in %s, and that of references for kerchunk in %s, or in %s or %s for Parquet files; varve materialize MANIFEST %s makes a Zarr hierarchy of a manifest",
			virtual.Suffix, kerchunk.Suffix, kerchunk.ParquetSuffix, kerchunk.LongParquetSuffix, phrase.Word(f.out))
	case !f.isManifest() && f.more:
		return failure.BadUsage("--append: references for kerchunk cannot grow; make a manifest (%s)", virtual.Suffix)
	case !f.isManifest() && f.copyPadded && !node.IsRepository(f.out):
		return failure.BadUsage("--copy-padded: references for kerchunk have no place for copies; make a manifest (%s)", virtual.Suffix)
	case !f.isManifest() && f.planTo != "":
		return failure.BadUsage("--plan: processes that share the files of references for kerchunk have no place for what they find; make a manifest (%s)", virtual.Suffix)
	case f.records != 0 && !f.isParquet():
		return failure.BadUsage("--record-size is for references in Parquet files, with a name that ends in %s or %s", kerchunk.ParquetSuffix, kerchunk.LongParquetSuffix)
	case f.records < 0 || f.records > kerchunk.MostRecords:
		return failure.BadUsage("--record-size must be from 1 to %s", phrase.Count(kerchunk.MostRecords))
	case how > 1:
		return failure.BadUsage("--concat, --stack and --merge exclude each other")
	case f.more && how > 0:
		return failure.BadUsage("--append adds files as the manifest was made: leave out --concat, --stack and --merge")
	}
	return nil
}

// outSuffixes are what names of outputs end in, for messages.
const outSuffixes = virtual.Suffix + ", " + kerchunk.Suffix + ", " + kerchunk.ParquetSuffix + " or " + kerchunk.LongParquetSuffix

func (f *virtualizeFlags) isManifest() bool { return strings.HasSuffix(f.out, virtual.Suffix) }

// isJSON reports whether the output is a file of references for kerchunk.
func (f *virtualizeFlags) isJSON() bool { return strings.HasSuffix(f.out, kerchunk.Suffix) }

// isParquet reports whether the output is a folder of such references.
func (f *virtualizeFlags) isParquet() bool {
	return strings.HasSuffix(f.out, kerchunk.ParquetSuffix) || strings.HasSuffix(f.out, kerchunk.LongParquetSuffix)
}

// virtualized is the result of the command, in the form of --json.
type virtualized struct {
	Path   string              `json:"path"`
	DryRun bool                `json:"dry_run"`
	Files  int                 `json:"files"`                         // that were added
	Again  int                 `json:"files_scanned_again,omitempty"` // because some of the manifest have changed
	Kept   int                 `json:"kept"`                          // of them, those that a stopped command has scanned
	Chunks int64               `json:"chunks"`
	Copied virtualizedCopies   `json:"copied"`
	Arrays []virtualizedArray  `json:"arrays"`
	Left   []virtualizedRefuse `json:"left_out"`
	Notes  []string            `json:"notes"`

	summary []string // of the notes, for people
}

// note adds a note.
func (r *virtualized) note(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	r.Notes, r.summary = append(r.Notes, text), append(r.summary, text)
}

// virtualizedCopies are the chunks that were copied without their padding.
type virtualizedCopies struct {
	Chunks int64 `json:"chunks"`
	Bytes  int64 `json:"bytes"` // encoded, with the padding
}

type virtualizedArray struct {
	Path   string  `json:"path"`
	Shape  []int64 `json:"shape"`
	Type   string  `json:"data_type"`
	Chunks string  `json:"chunks"`
}

type virtualizedRefuse struct {
	File   string `json:"file"`
	Path   string `json:"path"`
	Reason string `json:"reason"`
	Array  bool   `json:"array"`          // not an attribute, a link or a part
	More   int64  `json:"more,omitempty"` // values like it that are not listed
}

func (f *virtualizeFlags) run(cmd *cobra.Command, args []string) (err error) {
	files, err := namedFiles(args, cmd.InOrStdin())
	if err != nil {
		return err
	}
	for _, file := range files {
		if err := node.CheckFolder(file); err != nil {
			return failure.On("virtualize", f.out, err)
		}
	}
	if node.IsRepository(f.out) {
		return f.intoRepository(cmd, files)
	}
	ctx := cmd.Context()
	folder, name := filepath.Split(filepath.ToSlash(f.out))
	if folder == "" {
		folder = "."
	}
	access := store.Create
	if f.dry {
		access = store.ReadOnly
	}
	at, dir, err := store.OpenLocation(ctx, folder, access)
	if err != nil {
		return failure.On("virtualize", f.out, err)
	}
	defer func() { err = errors.Join(err, store.Close(at)) }()
	path, err := dir.Join(name)
	if err != nil {
		return failure.On("virtualize", f.out, err)
	}
	if err := f.vacant(ctx, at, path); err != nil { // scanning may take long
		return failure.On("virtualize", f.out, err)
	}
	if err := f.checkItself(files); err != nil {
		return failure.On("virtualize", f.out, err)
	}
	if f.planTo != "" {
		return f.plan(cmd, files)
	}
	r := virtualized{Path: f.out, DryRun: f.dry, Arrays: []virtualizedArray{}, Left: []virtualizedRefuse{}, Notes: []string{}}
	c, err := virtual.NewCollector(f.out)
	if err != nil {
		return failure.On("virtualize", f.out, err)
	}
	defer c.Close()
	c.Concurrency, c.Without = f.atOnce, f.without
	if !f.dry && f.isManifest() {
		if err := c.Keep(ctx, at, path); err != nil {
			return failure.On("virtualize", f.out, err)
		}
	}
	m, err := f.collect(cmd, c, at, path, files, &r)
	if err == nil && len(m.Arrays) == 0 {
		err = r.empty()
	}
	if err == nil {
		err = f.publish(ctx, m, at, path)
	}
	if n := c.Kept(); err != nil && n > 0 {
		err = failure.Leftover(err, "the same command continues: %s need not be scanned again", phrase.Plural(int64(n), "file"))
	}
	if err != nil {
		return failure.On("virtualize", f.out, err)
	}
	if err := c.Forget(store.Finishing(ctx)); err != nil {
		r.note("scans of a stopped command may be left, which varve vacuum deletes: %s", failure.OneLine(err))
	}
	r.describe(m)
	if n := len(m.Groups); f.isParquet() && n > 0 && m.Groups[n-1].Path != "" {
		r.note("fsspec opens no references in Parquet files that have groups below the root, such as %s: for Python programs write JSON (%s)", m.Groups[n-1].Path, kerchunk.Suffix)
	}
	if text := outsideText(f.out, files); text != "" {
		r.note("%s", text)
	}
	return r.show(cmd)
}

// show prints what was done. The error says whether arrays are left out.
func (r *virtualized) show(cmd *cobra.Command) (err error) {
	if session.WantsJSON(cmd) {
		err = session.PrintJSON(cmd, r)
	} else {
		err = session.Print(cmd, r.print)
	}
	if err == nil {
		err = r.partial()
	}
	return err
}

// empty returns the error for files without an array that can be taken.
func (r *virtualized) empty() error {
	text := "the files have no arrays"
	if len(r.Left) > 0 {
		text = fmt.Sprintf("nothing of the files can be taken: %s of %s: %s", r.Left[0].Path, r.Left[0].File, r.Left[0].Reason)
	}
	if more := len(r.Left) - 1; more > 0 {
		text += fmt.Sprintf("; and %d more", more)
	}
	return failure.Unsupported("%s", text)
}

// partial returns an error if an array of a file is left out.
func (r *virtualized) partial() error {
	n := int64(0)
	for _, x := range r.Left {
		if x.Array {
			n++
		}
	}
	if n == 0 {
		return nil
	}
	return failure.Partial(fmt.Sprintf("virtualize %s: done, but %s of the files could not be taken", r.Path, phrase.Plural(n, "array")))
}

// outsideText says which folders a reader of the manifest has to allow, because the files
// in them are not below its own.
func outsideText(out string, files []string) string {
	home, err := filepath.Abs(filepath.Dir(out))
	if err != nil || strings.Contains(out, "://") {
		return ""
	}
	var folders []string
	for _, name := range files {
		at, err := filepath.Abs(name)
		if err != nil || strings.Contains(name, "://") {
			continue
		}
		rel, err := filepath.Rel(home, at)
		if err == nil && rel != ".." && !strings.HasPrefix(rel, ".."+string(filepath.Separator)) {
			continue
		}
		if dir := filepath.Dir(name); !slices.Contains(folders, dir) {
			folders = append(folders, dir)
		}
	}
	if len(folders) == 0 {
		return ""
	}
	return "files are not in the folder of the manifest or below: to read it, give every command " + allowText(folders)
}

// allowText returns the flags that permit folders.
func allowText(folders []string) string {
	var shown []string
	for _, folder := range folders[:min(3, len(folders))] {
		shown = append(shown, phrase.Word(folder))
	}
	text := "--allow " + strings.Join(shown, " --allow ")
	if more := len(folders) - len(shown); more > 0 {
		text += fmt.Sprintf(", and %d more", more)
	}
	return text
}

// plan writes a plan whose tasks scan the files. None is opened before.
func (f *virtualizeFlags) plan(cmd *cobra.Command, files []string) error {
	r := job.Scan{
		Append: f.more, Concat: f.concat, Stack: f.stack, CopyPadded: f.copyPadded, Padded: session.Permitted(cmd).EncodedShapes,
		Without: f.without, Compare: f.compare, Concurrency: f.atOnce,
	}
	for _, file := range files {
		r.Files = append(r.Files, planfile.Location(cmd, file))
	}
	head := dryrun.Head{Operation: "virtualize", Node: f.out, Target: &f.out, Strategy: "copy-publish", Guarantee: "atomic"}
	head.Stages = []dryrun.Stage{{Name: "scan", Tasks: int64(len(files))}, {Name: "publish", Tasks: 1}}
	return planfile.Write(cmd, f.planTo, head, dryrun.Counts{}, r)
}

// collect scans the files.
func (f *virtualizeFlags) collect(cmd *cobra.Command, c *virtual.Collector, at store.Store, path store.Path, files []string, r *virtualized) (*virtual.Manifest, error) {
	ctx := cmd.Context()
	// The manifest is of no use if a source has changed, so look for these first.
	renewal, err := f.renew(ctx, c, at, path, files)
	var j *virtual.Joined
	switch {
	case err != nil:
	case renewal == nil:
		j, err = f.begin(cmd, at, path)
	default:
		j, files = renewal.Joined, renewal.Files
		r.note("%s since the manifest was made, so all files were scanned again", changedText(renewal.Changed))
	}
	if err != nil {
		return nil, err
	}
	line := progress.NewCount(cmd, "scanning", int64(len(files)))
	defer line.End()
	c.Added = func(p *virtual.Part) {
		line.Add(1)
		r.Files++
		if p.Kept {
			r.Kept++
		}
		for _, x := range p.Refused {
			r.Left = append(r.Left, virtualizedRefuse{p.Name, x.Path, failure.OneLine(x.Err), x.Array, x.More})
		}
	}
	err = c.Collect(ctx, j, files)
	if errors.Is(err, virtual.ErrMismatch) && f.concat+f.stack == "" && !f.more {
		err = fmt.Errorf("%w; files that continue along a dimension need --concat or --stack", err)
	}
	if errors.Is(err, virtual.ErrMismatch) && !f.isManifest() && strings.Contains(err.Error(), remedy.CopyPadded) {
		err = fmt.Errorf("%w; both need a manifest (-o NAME%s), because references for kerchunk have no place for copies and no such grid", err, virtual.Suffix)
	}
	if err != nil {
		return nil, f.unrenewed(renewal, err)
	}
	if line.End(); renewal != nil {
		r.Again = r.Files - renewal.New
		r.Files = renewal.New
	}
	for _, note := range j.Notes() {
		r.Notes = append(r.Notes, failure.WithoutPackages(note))
	}
	for _, note := range j.Summary(shownAlike) {
		r.summary = append(r.summary, failure.WithoutPackages(note))
	}
	m, err := j.Finish()
	if err == nil {
		err = f.copyChunks(cmd, c, m, at, path, r)
	}
	return m, f.unrenewed(renewal, err)
}

// renew returns what is needed to scan all files of a manifest again, if one that is
// named has changed, or nil.
func (f *virtualizeFlags) renew(ctx context.Context, c *virtual.Collector, at store.Store, path store.Path, files []string) (*virtual.Renewal, error) {
	if !f.more {
		return nil, nil
	}
	m, err := f.open(ctx, at, path)
	if err != nil {
		return nil, err
	}
	return c.Renew(ctx, m, files)
}

// unrenewed returns the error of a manifest whose files do not fit any more, or that was
// not made of files alone.
func (f *virtualizeFlags) unrenewed(r *virtual.Renewal, err error) error {
	if r == nil || err == nil || !errors.Is(err, virtual.ErrMismatch) && !errors.Is(err, zarr.ErrUnsupported) {
		return err
	}
	return fmt.Errorf("%w; %s, and it is left as it is: to make it anew, remove it (varve rm %s --yes) and give varve virtualize all that it was made of",
		err, changedText(r.Changed), phrase.Word(f.out))
}

// changedText says which files have changed.
func changedText(files []string) string {
	if more := len(files) - 1; more > 0 {
		return fmt.Sprintf("%s and %s have changed", files[0], phrase.Plural(int64(more), "other file"))
	}
	return files[0] + " has changed"
}

// copyChunks copies the chunks whose padding is in the way.
func (f *virtualizeFlags) copyChunks(cmd *cobra.Command, c *virtual.Collector, m *virtual.Manifest, at store.Store, path store.Path, r *virtualized) error {
	r.Copied.Chunks, r.Copied.Bytes = m.Padded()
	if f.dry || r.Copied.Chunks == 0 {
		return nil
	}
	line := progress.NewCount(cmd, "copying chunks", r.Copied.Chunks)
	defer line.End()
	c.Copied = line.Reach
	return c.CopyPadded(cmd.Context(), m, at, path)
}

// errTaken means that there is something at the place of a new manifest, and errOccupied
// that it is at the place of references, which cannot grow.
var (
	errTaken    = failure.BadArgument("something is there already: add files to a manifest with --append, or remove it")
	errOccupied = failure.BadArgument("something is there already: take another name, or delete it with the tools of the system or of the object store; for Parquet files it is a folder (varve rm deletes no references)")
)

// taken returns the error for a place where there is something.
func (f *virtualizeFlags) taken() error {
	if f.isManifest() {
		return errTaken
	}
	return errOccupied
}

// vacant returns an error if there is something at the place of a new manifest.
func (f *virtualizeFlags) vacant(ctx context.Context, at store.Store, path store.Path) error {
	if f.more {
		return nil
	}
	found, err := false, error(nil)
	switch {
	case f.isParquet(): // files that are left there would be taken for new ones
		for _, err = range store.List(ctx, at, path, store.Deep) {
			found = err == nil
			break
		}
		if errors.Is(err, fs.ErrNotExist) {
			err = nil
		}
	case f.isManifest():
		found, err = store.Exists(ctx, at, path.MustKey(own.ManifestDocument))
	default:
		found, err = store.Exists(ctx, at, path.AsKey())
	}
	if found {
		return f.taken()
	}
	return err
}

// checkItself refuses the manifest, and nodes in it, among the files: their values would
// be in it twice.
func (f *virtualizeFlags) checkItself(files []string) error {
	if !f.more {
		return nil
	}
	for _, file := range files {
		if place.Within(f.out, file) || place.IsAtOrBelow(f.out, file) {
			return failure.BadArgument("%s is the manifest to which files are added, or lies in it: leave it out", file)
		}
	}
	return nil
}

// begin returns an empty hierarchy, or that of a manifest that exists.
func (f *virtualizeFlags) begin(cmd *cobra.Command, at store.Store, path store.Path) (*virtual.Joined, error) {
	ctx := cmd.Context()
	if !f.more {
		return virtual.NewJoined(virtual.Join{Concat: f.concat, Stack: f.stack, Padded: session.Permitted(cmd).EncodedShapes, CopyPadded: f.copyPadded, Compare: f.compare})
	}
	m, err := f.open(ctx, at, path)
	if err != nil {
		return nil, err
	}
	return virtual.Extend(ctx, m, f.out)
}

// open opens the manifest to which files are added.
func (f *virtualizeFlags) open(ctx context.Context, at store.Store, path store.Path) (*virtual.Manifest, error) {
	m, err := virtual.Open(ctx, at, path)
	if errors.Is(err, fs.ErrNotExist) {
		if is, lookErr := store.Exists(ctx, at, path.MustKey(own.ManifestDocument)); !is && lookErr == nil {
			err = failure.NotFound("there is no manifest to add files to: leave out --append to make it")
		}
	}
	if err != nil {
		return nil, err
	}
	m.Join.CopyPadded = m.Join.CopyPadded || f.copyPadded
	m.Join.Compare = f.compare
	return m, nil
}

func (f *virtualizeFlags) publish(ctx context.Context, m *virtual.Manifest, at store.Store, path store.Path) error {
	switch {
	case f.dry:
		return nil
	case f.more:
		err := m.Update(ctx)
		if errors.Is(err, store.ErrConflict) {
			return fmt.Errorf("%w: another program has added files meanwhile; run the command again", err)
		}
		return err
	}
	err := f.create(ctx, m, at, path)
	if errors.Is(err, store.ErrConflict) {
		return f.taken()
	}
	return err
}

// create stores a new manifest, or references for kerchunk.
func (f *virtualizeFlags) create(ctx context.Context, m *virtual.Manifest, at store.Store, path store.Path) error {
	switch {
	case f.isManifest():
		return m.Create(ctx, at, path)
	case f.isParquet():
		return m.CreateParquet(ctx, at, path, f.records)
	}
	var text bytes.Buffer
	if err := m.WriteKerchunk(ctx, &text); err != nil {
		return err
	}
	_, err := store.Write(ctx, at, store.PutIf(path.AsKey(), text.Bytes(), store.IfAbsent()), store.Sync)
	return err
}

// Show scans the files that arguments name and opens what they are together, without
// storing a manifest. note gets a line for each array that is left out, and for what
// files have in different ways.
func Show(cmd *cobra.Command, args []string, join virtual.Join, note func(text string)) (shown store.Store, err error) {
	files, err := namedFiles(args, cmd.InOrStdin())
	if err != nil {
		return nil, err
	}
	ctx := cmd.Context()
	for _, file := range files {
		if err := node.CheckFolder(file); err != nil {
			return nil, err
		}
		ctx = virtual.WithAllowed(ctx, file) // the user has named it
	}
	const location = "files" + virtual.Suffix // in the working directory, where there is none
	c, err := virtual.NewCollector(location)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	line := progress.NewCount(cmd, "scanning", int64(len(files)))
	defer line.End()
	arrays := 0
	c.Added = func(p *virtual.Part) {
		line.Add(1)
		for _, x := range p.Refused {
			if arrays++; x.Array && arrays <= shownAlike {
				note(fmt.Sprintf("%s of %s is left out: %s", phrase.Printable(x.Path), phrase.Printable(p.Name), failure.OneLine(x.Err)))
			}
		}
	}
	j, err := virtual.NewJoined(join)
	if err == nil {
		err = c.Collect(ctx, j, files)
	}
	if err != nil {
		return nil, err
	}
	for _, text := range j.Summary(shownAlike) {
		note(failure.WithoutPackages(text))
	}
	m, err := j.Finish()
	if err != nil {
		return nil, err
	}
	if len(m.Arrays) == 0 {
		return nil, failure.Unsupported("the files have no arrays that could be taken")
	}
	return m.Show(ctx, location)
}

// namedFiles returns the files that arguments name.
func namedFiles(args []string, in io.Reader) (files []string, err error) {
	for _, arg := range args {
		switch {
		case arg == "-":
			lines := bufio.NewScanner(in)
			for lines.Scan() {
				if name := strings.TrimSpace(lines.Text()); name != "" {
					files = append(files, name)
				}
			}
			err = lines.Err()
		case strings.ContainsAny(arg, "*?[") && !strings.Contains(arg, "://"):
			if _, statErr := os.Lstat(arg); statErr == nil {
				files = append(files, arg)
				break
			}
			var found []string
			found, err = input.Matches(arg)
			files = append(files, found...)
		default:
			files = append(files, arg)
		}
		if err != nil {
			return nil, err
		}
	}
	return files, nil
}

// describe adds the arrays.
func (r *virtualized) describe(m *virtual.Manifest) {
	r.Chunks = m.References()
	for _, a := range m.Arrays {
		r.Arrays = append(r.Arrays, virtualizedArray{a.Path, a.Grid.Shape(), a.Document.DataType.Name, phrase.Chunks(a.Grid)})
	}
}

func (r *virtualized) print(w *bufio.Writer) error {
	done := "added"
	if r.DryRun {
		done = "would be added, nothing was written"
	}
	files := phrase.Plural(int64(r.Files), "file") + " " + done
	if r.Again > 0 {
		again := "scanned again"
		if r.DryRun {
			again = "would be scanned again, nothing was written"
		}
		again = phrase.Plural(int64(r.Again), "file") + " " + again
		if files = again + ", " + files; r.Files == 0 {
			files = again
		}
	}
	fmt.Fprintf(w, "%s  %s, %s in %s\n", phrase.Printable(r.Path), files,
		phrase.Plural(r.Chunks, "chunk"), phrase.Plural(int64(len(r.Arrays)), "array"))
	for _, a := range r.Arrays {
		fmt.Fprintf(w, "  %s  %s  %s  chunks %s\n", shortName(a.Path), a.Type, phrase.Shape(a.Shape), a.Chunks)
	}
	if r.Kept > 0 {
		fmt.Fprintf(w, "  %s scanned before, by a command that was stopped\n", phrase.Plural(int64(r.Kept), "file"))
	}
	if r.Copied.Chunks > 0 {
		copied := "copied"
		if r.DryRun {
			copied = "to copy"
		}
		fmt.Fprintf(w, "  %s %s without padding: %s\n", phrase.Plural(r.Copied.Chunks, "chunk"), copied, phrase.Bytes(r.Copied.Bytes))
	}
	r.printLeft(w)
	for _, text := range r.summary {
		fmt.Fprintf(w, "  note: %s\n", phrase.Printable(text))
	}
	return nil
}

// shortName returns a path for a line of people. Files have names of a thousand letters.
func shortName(path string) string { return phrase.Shorten(phrase.Printable(path), 120) }

// shownAlike bounds the lines of one kind that are printed without --json.
const shownAlike = 3

// printLeft prints what is left out. Files of one kind often lack the same.
func (r *virtualized) printLeft(w *bufio.Writer) {
	count, lines := map[string]int{}, 0
	for _, x := range r.Left {
		count[x.Path]++
	}
	shown := map[string]int{}
	for i, x := range r.Left {
		if lines == session.MostShown {
			more := int64(0)
			for _, x := range r.Left[i:] {
				if more += x.More; shown[x.Path] < shownAlike { // else a line has counted it
					more++
				}
			}
			if more > 0 {
				fmt.Fprintf(w, "  … %s more are left out\n", phrase.Count(more))
			}
			break
		}
		if shown[x.Path]++; shown[x.Path] > shownAlike {
			continue
		}
		lines++
		fmt.Fprintf(w, "  left out: %s of %s: %s\n", shortName(x.Path), phrase.Printable(x.File), x.Reason)
		if more := count[x.Path] - shownAlike; shown[x.Path] == shownAlike && more > 0 {
			fmt.Fprintf(w, "  … and %s of %s\n", shortName(x.Path), phrase.Plural(int64(more), "more file"))
		}
	}
}

// PrintManifest prints what a scan has made, as varve virtualize does.
func PrintManifest(cmd *cobra.Command, at string, m *job.Manifest) error {
	r := virtualized{Path: at, Files: m.Files, Arrays: []virtualizedArray{}, Left: []virtualizedRefuse{}, Notes: append([]string{}, m.Notes...), summary: m.Summary}
	r.Copied.Chunks, r.Copied.Bytes = m.Padded()
	for _, x := range m.Refused {
		r.Left = append(r.Left, virtualizedRefuse{x.File, x.Path, failure.OneLine(x.Err), x.Array, x.More})
	}
	r.describe(m.Manifest)
	return r.show(cmd)
}
