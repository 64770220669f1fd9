// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"varve.dev/zarr"
	"varve.dev/zarr/cmd/varve/internal/console"
	"varve.dev/zarr/cmd/varve/internal/facts"
	"varve.dev/zarr/cmd/varve/internal/failure"
	"varve.dev/zarr/cmd/varve/internal/flagtext"
	"varve.dev/zarr/cmd/varve/internal/localfile"
	"varve.dev/zarr/cmd/varve/internal/phrase"
	"varve.dev/zarr/cmd/varve/internal/picture"
	"varve.dev/zarr/cmd/varve/internal/progress"
	"varve.dev/zarr/cmd/varve/internal/session"
	"varve.dev/zarr/cmd/varve/internal/usage"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/checked"
	"varve.dev/zarr/internal/draw"
	"varve.dev/zarr/internal/driver"
	"varve.dev/zarr/internal/quantity"
	"varve.dev/zarr/selection"
	"varve.dev/zarr/store"
)

// appended is how many planes the demonstration appends, one by one.
const appended = 10

func newDemoCommand() *cobra.Command {
	var from string
	c := &cobra.Command{
		Use:   "demo [DIR]",
		Short: "Make a small archive in a new directory, append to it, and measure what was written",
		Long: `Make an archive of daily fields with one chunk for each year, append ten days one by one, and read everything back.
With --from, do the same with a copy of an existing array; the original does not change.

DIR may also be in an object store, as s3://bucket/demo.

What the appends wrote is measured from the files, not computed. The archive stays in DIR for you to look at.`,
		Example: `  varve demo
  varve demo my-copy --from era5.zarr/t2m`,
		Args: usage.Arguments("[DIR]"),
	}
	flagtext.Var(c.Flags(), &from, "from", "", "the `NODE` to copy: an array, or a group, of which the first array is taken", flagtext.Needed("the location of a node"))
	c.RunE = func(cmd *cobra.Command, args []string) error {
		dir := "varve-demo"
		if len(args) == 1 {
			dir = strings.TrimPrefix(args[0], "file://")
		}
		return failure.On("demo", dir, runDemo(cmd, dir, from))
	}
	return c
}

// demo is the state of one demonstration.
type demo struct {
	cmd    *cobra.Command
	out    io.Writer
	dir    string
	name   string // of the array in dir
	origin *origin
	h      *zarr.Location
	facts  demoFacts
}

// demoFacts is the result of the command, in the form of --json. If any check fails, the
// command fails instead.
type demoFacts struct {
	Path            string          `json:"path"`
	From            *string         `json:"from"`
	MadeRectilinear bool            `json:"made_rectilinear"` // because the grid of the original is regular
	Before          archiveFacts    `json:"before"`
	Appends         []appendFacts   `json:"appends"`
	Regular         *regularFacts   `json:"regular"` // null if there is no fair comparison
	After           archiveFacts    `json:"after"`
	ChunkGrid       json.RawMessage `json:"chunk_grid"`
	SeamValues      int64           `json:"seam_values_verified"`
	Values          int64           `json:"values_verified"`
}

// archiveFacts describes the stored chunks of the array.
type archiveFacts struct {
	Shape  []int64 `json:"shape"`
	Chunks int64   `json:"chunks_stored"`
	Bytes  int64   `json:"bytes_stored"` // without the document
}

// appendFacts counts what one append did to the files.
type appendFacts struct {
	Index         int64 `json:"index"` // along axis 0
	NewChunks     int64 `json:"new_chunks"`
	NewBytes      int64 `json:"new_chunk_bytes"`
	Documents     int64 `json:"documents_replaced"`
	DocumentBytes int64 `json:"document_bytes"`
	Others        int64 `json:"other_files_changed"`
}

func runDemo(cmd *cobra.Command, dir, from string) error {
	d := newDemo(cmd, dir, "temperature", dailyFields())
	// Say so before the elements are read.
	if !isRemote(dir) {
		if err := checkEmpty(dir); err != nil {
			return err
		}
	}
	if from != "" {
		source, err := d.copyOf(from)
		if err != nil {
			return err
		}
		defer source.Close()
		if err := d.affordable(localfile.FreeBytes); err != nil {
			return err
		}
	}
	return d.run(cmd.Context())
}

func newDemo(cmd *cobra.Command, dir, name string, from *origin) *demo {
	d := &demo{cmd: cmd, out: cmd.OutOrStdout(), dir: dir, name: name, origin: from}
	if session.WantsJSON(cmd) {
		d.out = io.Discard
	}
	return d
}

// run runs all steps. The first failed check ends it.
func (d *demo) run(ctx context.Context) error {
	end, err := d.open(ctx)
	if err != nil {
		return err
	}
	for _, step := range []func(context.Context) error{d.archive, d.grow, d.regular, d.draw, d.readBack, d.end} {
		if err := step(ctx); err != nil {
			return errors.Join(err, end())
		}
	}
	return end()
}

var errNotEmpty = failure.OfKind(fs.ErrExist, "it is not empty: name a new directory")

// checkEmpty returns an error if a directory of this machine exists and is not empty.
func checkEmpty(dir string) error {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil && len(entries) > 0 {
		return errNotEmpty
	}
	return err
}

// archive writes the array before the appends.
func (d *demo) archive(ctx context.Context) error {
	begun := time.Now()
	if _, err := d.h.At("").CreateGroup(ctx, nil, nil); err != nil {
		return err
	}
	// The demonstration need not survive a power cut, and syncing every file is slow.
	a, err := d.h.At(d.name).CreateArray(ctx, d.origin.spec, &zarr.CreateOptions{Options: zarr.Options{Durability: store.Flush}})
	if err != nil {
		return err
	}
	bar := progress.New(d.cmd, "writing", d.bytes(grid.BoxOf(a.Shape())))
	defer bar.End()
	var buffer []byte
	for c := range a.Chunks() {
		box := c.Box()
		if buffer, err = d.values(ctx, box, buffer); err != nil {
			return err
		}
		if err := a.WriteBytes(ctx, selection.BoxOf(box), buffer); err != nil {
			return err
		}
		bar.Add(int64(len(buffer)))
	}
	if d.facts.Before, err = d.measure(ctx, a); err != nil {
		return err
	}
	return d.say("1  The archive: %s\n\n   %s  %s %s%s, %s\n   chunks   %s\n%s   stored   %s in %s, after %.1f s\n\n",
		d.origin.story, phrase.Printable(d.facts.Path), phrase.Shape(a.Shape()), a.Type(), phrase.Printable(facts.NamesText(a.Metadata().DimensionNames)),
		phrase.Bytes(d.bytes(grid.BoxOf(a.Shape()))), phrase.Chunks(a.Grid()), d.conversion(),
		phrase.Bytes(d.facts.Before.Bytes), phrase.Plural(d.facts.Before.Chunks, "chunk"), time.Since(begun).Seconds())
}

// conversion returns a line about the grid if the original has a regular one.
func (d *demo) conversion() string {
	if !d.facts.MadeRectilinear {
		return ""
	}
	return "   grid     regular in the original; here rectilinear with the same lengths, so it can grow by any length\n"
}

// values returns the expected elements of a box, in buffer if that is large enough.
func (d *demo) values(ctx context.Context, box grid.Box, buffer []byte) ([]byte, error) {
	n := int(d.bytes(box))
	buffer = slices.Grow(buffer[:0], n)[:n]
	return buffer, d.origin.fill(ctx, box, buffer)
}

// bytes returns the size of the elements of a box in bytes, at most [math.MaxInt64].
func (d *demo) bytes(box grid.Box) int64 {
	return checked.Capped(append(box.Shape(), int64(d.origin.spec.Type.Size()))...)
}

// grow appends planes one by one, and compares the stored values before and after each.
func (d *demo) grow(ctx context.Context) error {
	// With StoreFill, chunks that hold only the fill value are stored too, so every
	// append writes the same number of chunks.
	a, err := d.h.At(d.name).OpenArray(ctx, &zarr.Options{Write: true, StoreFill: true})
	if err != nil {
		return err
	}
	if err := d.say("2  %d appends, measured from the files\n\n   %-12s %10s %10s %10s %12s\n", appended, "", "new chunks", "bytes", "zarr.json", "other files"); err != nil {
		return err
	}
	before, err := d.list(ctx)
	if err != nil {
		return err
	}
	for range appended {
		if before, err = d.appendPlane(ctx, a, before); err != nil {
			return err
		}
	}
	if d.facts.After, err = d.measure(ctx, a); err != nil {
		return err
	}
	return d.summary()
}

// appendPlane appends one plane, checks which values changed since before, and returns
// those after it.
func (d *demo) appendPlane(ctx context.Context, a *zarr.Array, before snapshot) (snapshot, error) {
	old := a.Grid()
	box := grid.BoxOf(a.Shape())
	box[0] = grid.Interval{Start: box[0].Stop, Stop: box[0].Stop + 1}
	plane, err := d.values(ctx, box, nil)
	if err != nil {
		return nil, err
	}
	if err := a.AppendBytes(ctx, 0, plane, nil); err != nil {
		return nil, err
	}
	after, err := d.list(ctx)
	if err != nil {
		return nil, err
	}
	f := appendFacts{Index: box[0].Start}
	for name := range before.changes(after) {
		d.classify(&f, name, old.Chunks(), after)
	}
	d.facts.Appends = append(d.facts.Appends, f)
	// A plane has one new chunk for each combination of chunks of the other axes.
	want, ok := checked.Product(old.Chunks()[1:]...)
	if !ok || f.NewChunks != want || f.Documents != 1 || f.Others != 0 {
		return nil, fmt.Errorf("%s: the append of %s wrote %s (%d expected), %s (1 expected) and %s (none expected)",
			d.facts.Path, d.origin.plane(f.Index), quantity.Count(f.NewChunks, "new chunks"), want, quantity.Count(f.Documents, "documents"), quantity.Count(f.Others, "other files"))
	}
	return after, d.say("   %-12s %10s %10s %10s %12s\n", d.origin.plane(f.Index), phrase.Count(f.NewChunks), phrase.Bytes(f.NewBytes), phrase.Bytes(f.DocumentBytes), phrase.Count(f.Others))
}

// summary prints what all appends wrote.
func (d *demo) summary() error {
	var objects, size int64
	for _, f := range d.facts.Appends {
		objects += f.NewChunks + f.Documents
		size += f.NewBytes + f.DocumentBytes
	}
	return d.say("\n   In total %s files with %s were written. The files of the %s from before (%s) did not change.\n\n",
		phrase.Count(objects), phrase.Bytes(size), phrase.Plural(d.facts.Before.Chunks, "chunk"), phrase.Bytes(d.facts.Before.Bytes))
}

// draw prints a drawing of the grid.
func (d *demo) draw(ctx context.Context) error {
	a, err := d.h.At(d.name).OpenArray(ctx, nil)
	if err != nil {
		return err
	}
	d.facts.ChunkGrid = facts.GridJSON(a.Grid())
	shown := picture.OfArray("", a)
	stored, err := shown.Stored(d.cmd)
	if err != nil {
		return err
	}
	opt := &draw.GridOptions{Width: console.Columns(d.out) - 3, Axes: []int{0}, Names: a.DimensionNames(), Stored: stored}
	if a.Rank() > 1 {
		opt.Axes = []int{1, 0}
	}
	var drawing strings.Builder
	for line := range strings.Lines(draw.Grid(a.Grid(), opt)) {
		if line != "\n" {
			line = "   " + line
		}
		drawing.WriteString(line)
	}
	return d.say("3  The grid now: %s\n\n%s\n", facts.ChunkCount(a.Grid()), drawing.String())
}

// readBack opens the array again and compares every value.
func (d *demo) readBack(ctx context.Context) error {
	// Open the array anew, so that nothing cached by the appends can hide an error.
	a, err := zarr.OpenArray(ctx, d.facts.Path, nil)
	if err != nil {
		return err
	}
	defer a.Close()
	seam := grid.BoxOf(a.Shape())
	old := seam[0].Stop - appended
	// A few planes on both sides of the first append.
	seam[0] = grid.Interval{Start: max(0, old-4), Stop: old + 3}
	if d.facts.SeamValues, err = d.check(ctx, a, seam); err != nil {
		return err
	}
	bar := progress.New(d.cmd, "comparing", d.bytes(grid.BoxOf(a.Shape())))
	defer bar.End()
	for c := range a.Chunks() {
		n, err := d.check(ctx, a, c.Box())
		if err != nil {
			return err
		}
		d.facts.Values += n
		bar.Add(d.bytes(c.Box()))
	}
	if all, ok := checked.Product(a.Shape()...); !ok || d.facts.Values != all {
		return fmt.Errorf("%s: %d of %s were compared", d.facts.Path, d.facts.Values, quantity.Count(all, "values"))
	}
	return d.say("4  Read back and compared, value by value\n\n   %-38s %14s values, all equal\n   %-38s %14s values, all equal\n\n",
		"around the first append, from "+d.origin.plane(seam[0].Start), phrase.Count(d.facts.SeamValues), "everything", phrase.Count(d.facts.Values))
}

// check compares the elements of a box with the expected ones, bit for bit, and returns
// their number.
func (d *demo) check(ctx context.Context, a *zarr.Array, box grid.Box) (int64, error) {
	want, err := d.values(ctx, box, nil)
	if err != nil {
		return 0, err
	}
	got := make([]byte, len(want))
	if err := a.ReadBytes(ctx, selection.BoxOf(box), got); err != nil {
		return 0, err
	}
	size := d.origin.spec.Type.Size()
	if !bytes.Equal(got, want) {
		i := 0
		for got[i] == want[i] {
			i++
		}
		return 0, fmt.Errorf("%w: %s: value %d of elements %v differs from the one written", zarr.ErrCorrupt, d.facts.Path, i/size, box)
	}
	return int64(len(got) / size), nil
}

// end prints the facts with --json, and commands to try next without it.
func (d *demo) end(ctx context.Context) error {
	if session.WantsJSON(d.cmd) {
		return session.PrintJSON(d.cmd, d.facts)
	}
	zeros := strings.Repeat(",0", len(d.facts.After.Shape)-1)
	last := d.facts.After.Shape[0] - 1
	axes := ""
	if len(zeros) > 0 {
		axes = " --axes 1,0"
	}
	dir, secrets := retyped(ctx, d.dir)
	array, _ := retyped(ctx, d.facts.Path)
	more := ""
	if secrets {
		more = ", with the options that are not shown here"
	}
	return d.say(`The archive is in %[1]s. To look around%[8]s:

   %[6]s info --stats %[2]s
   %[6]s grid %[2]s%[5]s --locate %[3]d%[4]s
   %[6]s cat %[2]s --select %[3]d%[4]s
   %[6]s tree %[7]s
`, d.dir, array, last, zeros, axes, thisCommand(), dir, more)
}

func (d *demo) say(format string, args ...any) error {
	_, err := fmt.Fprintf(d.out, format, args...)
	return err
}

// harmless are the options of locations that are no secrets, without the prefix of their
// service. All others count as secrets, also those that are not known here.
var harmless = []string{
	"access_tier", "account", "account_host", "account_name", "addressing_style", "allow_http", "anon", "anonymous", "azure_endpoint", "base_url",
	"conditional_put", "default_region", "endpoint", "endpoint_override", "endpoint_url", "endpoint_url_s3", "no_sign_request", "profile", "region",
	"region_name", "request_payer", "requester_pays", "skip_signature", "storage_class", "user_project", "virtual_hosted_style_request",
}

// retyped returns a location as a word of a command line, with the options that the user
// gave for its store, and whether secrets among them are left out.
func retyped(ctx context.Context, location string) (word string, secrets bool) {
	word = phrase.Printable(location)
	if !isRemote(location) {
		return word, false
	}
	_, query, _ := strings.Cut(driver.Reveal(ctx, location), "?")
	var shown []string
	for option := range strings.SplitSeq(query, "&") {
		name, value, _ := strings.Cut(option, "=")
		value, err := url.QueryUnescape(value)
		name = strings.ToLower(name)
		for _, service := range []string{"aws_", "google_", "azure_storage_"} {
			name = strings.TrimPrefix(name, service)
		}
		switch {
		case option == "":
		case err != nil || !slices.Contains(harmless, name):
			secrets = true
		case strings.Contains(value, "://") && driver.Redact(value) != value:
			secrets = true // such as a password of the endpoint
		default:
			shown = append(shown, phrase.Printable(option))
		}
	}
	if len(shown) > 0 {
		// Shells read ? and & as signs of their own.
		word = "'" + word + "?" + strings.ReplaceAll(strings.Join(shown, "&"), "'", "%27") + "'"
	}
	return word, secrets
}
