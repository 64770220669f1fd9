// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"math"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"varve.dev/zarr"
	"varve.dev/zarr/cmd/varve/internal/checked"
	"varve.dev/zarr/cmd/varve/internal/console"
	"varve.dev/zarr/cmd/varve/internal/facts"
	"varve.dev/zarr/cmd/varve/internal/failure"
	"varve.dev/zarr/cmd/varve/internal/flagtext"
	"varve.dev/zarr/cmd/varve/internal/localfile"
	"varve.dev/zarr/cmd/varve/internal/node"
	"varve.dev/zarr/cmd/varve/internal/phrase"
	"varve.dev/zarr/cmd/varve/internal/picture"
	"varve.dev/zarr/cmd/varve/internal/progress"
	"varve.dev/zarr/cmd/varve/internal/session"
	"varve.dev/zarr/draw"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/metadata"
	"varve.dev/zarr/store"
	"varve.dev/zarr/store/filestore"
)

// appended is how many planes the demonstration appends, one by one.
const appended = 10

func newDemoCommand() *cobra.Command {
	var from string
	c := &cobra.Command{
		Use:   "demo [DIR]",
		Short: "Make a small archive in a new directory, append to it and measure what was written",
		Long: `Make an archive of daily fields in chunks of a year, append ten days one by one, and read everything back.
With --from, do the same on a copy of an array that is there already; the original stays as it is.

What the appends wrote is observed in the directory and not computed. The archive stays for you to look at.`,
		Example: `  varve demo
  varve demo my-copy --from era5.zarr/t2m`,
		Args: arguments("[DIR]"),
	}
	flagtext.Var(c.Flags(), &from, "from", "", "the `NODE` to copy: an array, or a group whose first array is taken", flagtext.Needed("the location of a node"))
	c.RunE = func(cmd *cobra.Command, args []string) error {
		dir := "varve-demo"
		if len(args) == 1 {
			dir = args[0]
		}
		return failure.On("demo", dir, runDemo(cmd, dir, from))
	}
	return c
}

// demo is one demonstration on its way.
type demo struct {
	cmd    *cobra.Command
	out    io.Writer
	dir    string
	name   string // of the array in dir
	origin *origin
	h      *zarr.Location
	facts  demoFacts
}

// origin is where the elements come from.
type origin struct {
	spec zarr.Spec
	// fill writes the elements of a box to dst, in C order and in the byte order of the
	// host. Along axis 0 the box may reach beyond the shape by what is appended.
	fill func(ctx context.Context, box grid.Box, dst []byte) error
	// plane names an index of axis 0.
	plane func(index int64) string
	story string
}

// demoFacts is what was measured. A demonstration in which anything is not as it should
// be fails instead.
type demoFacts struct {
	Path            string          `json:"path"`
	From            *string         `json:"from"`
	MadeRectilinear bool            `json:"made_rectilinear"` // because the grid of the original is regular
	Before          archiveFacts    `json:"before"`
	Appends         []appendFacts   `json:"appends"`
	Regular         *regularFacts   `json:"regular"` // null where the comparison would be with something else
	After           archiveFacts    `json:"after"`
	ChunkGrid       json.RawMessage `json:"chunk_grid"`
	SeamValues      int64           `json:"seam_values_verified"`
	Values          int64           `json:"values_verified"`
}

// archiveFacts is what the directory holds of the array.
type archiveFacts struct {
	Shape  []int64 `json:"shape"`
	Chunks int64   `json:"chunks_stored"`
	Bytes  int64   `json:"bytes_stored"` // of chunks
}

// appendFacts is what one append did to the files.
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
	if err := checkEmpty(dir); err != nil {
		return err
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

// run goes through the demonstration; whatever is not as it should be ends it.
func (d *demo) run(ctx context.Context) error {
	s, err := filestore.Open(d.dir, &filestore.Options{Create: true})
	if err != nil {
		return err
	}
	defer s.Close()
	d.h = zarr.At(s, "")
	d.facts.Path = filepath.ToSlash(filepath.Join(d.dir, d.name))
	for _, step := range []func(context.Context) error{d.archive, d.grow, d.regular, d.draw, d.readBack, d.end} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	return nil
}

// checkEmpty refuses a directory in which something is.
func checkEmpty(dir string) error {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil && len(entries) > 0 {
		return failure.OfKind(fs.ErrExist, "it is not empty: name a directory that is new")
	}
	return err
}

// Shape of the daily fields: five years of days, and a grid of five degrees.
var (
	years                 = []int64{365, 365, 365, 366, 365}
	firstDay              = time.Date(2021, time.January, 1, 0, 0, 0, 0, time.UTC)
	latitudes       int64 = 36
	longitudes      int64 = 72
	fieldAttributes       = map[string]string{"long_name": "made-up surface temperature", "units": "K", "first_day": firstDay.Format(time.DateOnly)}
)

// dailyFields is an archive made of a formula.
func dailyFields() *origin {
	var days int64
	for _, y := range years {
		days += y
	}
	return &origin{
		spec: zarr.Spec{
			Shape: []int64{days, latitudes, longitudes}, Type: dtype.Of[float32](),
			Chunks:         []grid.Cut{grid.Edges(years...), grid.Every(latitudes), grid.Every(longitudes)},
			DimensionNames: []string{"time", "lat", "lon"}, Attributes: fieldAttributes,
		},
		fill: func(_ context.Context, box grid.Box, dst []byte) error {
			at := 0
			for index := range box.Indices() {
				binary.NativeEndian.PutUint32(dst[at:], math.Float32bits(temperature(index[0], index[1], index[2])))
				at += 4
			}
			return nil
		},
		plane: func(day int64) string { return firstDay.AddDate(0, 0, int(day)).Format(time.DateOnly) },
		story: "five years of daily fields, a chunk a year",
	}
}

// temperature is colder towards the poles and in winter, with weather that moves east; in
// kelvin, to a hundredth.
func temperature(day, lat, lon int64) float32 {
	north := math.Sin((float64(lat)+0.5)/float64(latitudes)*math.Pi - math.Pi/2)
	summer := -math.Cos(2 * math.Pi * float64(day) / 365.2425)
	weather := math.Sin(6*math.Pi*float64(lon)/float64(longitudes) - 0.7*float64(day))
	t := 300 - 45*north*north + 15*north*summer + 3*weather*(1-north*north)
	return float32(math.Round(100*t) / 100)
}

// copyOf makes the demonstration one of a copy of the node at a location, and returns the
// array there.
func (d *demo) copyOf(location string) (*zarr.Array, error) {
	if rel, err := filepath.Rel(node.LocalPath(location), node.LocalPath(d.dir)); err == nil && filepath.IsLocal(rel) {
		return nil, failure.BadArgument("%s lies within %s, which is not to be changed: name another directory", d.dir, location)
	}
	n, err := node.Open(d.cmd, location)
	if err != nil {
		return nil, err
	}
	a, err := firstArray(d.cmd.Context(), location, n)
	if err != nil {
		return nil, errors.Join(err, n.Close())
	}
	d.facts.From, d.facts.MadeRectilinear = &location, a.Grid().Name() == grid.RegularName
	if d.name = "data"; a.Path() != "" {
		d.name = path.Base(a.Path())
	}
	d.origin, err = repeated(a)
	return a, err
}

// firstArray returns the node if it is an array that can grow along axis 0, else the
// first such array below it.
func firstArray(ctx context.Context, location string, n zarr.Node) (*zarr.Array, error) {
	switch n := n.(type) {
	case *zarr.Array:
		if growable(n) {
			return n, nil
		}
		if n.Rank() == 0 {
			return nil, failure.BadArgument("%s is a scalar: it has no axis to grow along", location)
		}
		return nil, failure.BadArgument("%s has no elements along an axis, so nothing can be appended that is like them", location)
	case *zarr.Group:
		for m, err := range n.Members(ctx, true) {
			if err != nil {
				return nil, err
			}
			if a, ok := m.Node.(*zarr.Array); ok && growable(a) {
				return a, nil
			}
		}
	}
	return nil, failure.BadArgument("%s has no array with elements along an axis", location)
}

// mostCopied is how many bytes of elements are copied without a look at the disk.
const mostCopied = 4 << 30

// affordable refuses to copy a huge array to where it might not fit. free tells the room
// there is for a directory.
func (d *demo) affordable(free func(dir string) (int64, bool)) error {
	n := d.bytes(grid.BoxOf(d.origin.spec.Shape))
	if n <= mostCopied {
		return nil
	}
	room, ok := free(node.LocalPath(d.dir))
	if ok && n <= room {
		return nil
	}
	why := "how much room there is, is not known"
	if ok {
		why = "there is room for " + phrase.Bytes(room)
	}
	return fmt.Errorf("%w: %s holds %s of elements, too much to copy: %s", zarr.ErrLimit, *d.facts.From, phrase.Bytes(n), why)
}

func growable(a *zarr.Array) bool { return a.Rank() > 0 && !slices.Contains(a.Shape(), 0) }

// repeated is an archive with the elements of an array, to which its last planes are
// appended once more.
func repeated(a *zarr.Array) (*origin, error) {
	doc := a.Metadata()
	keys, err := metadata.ParseKeyEncoding(doc.ChunkKeyEncoding)
	if err != nil {
		return nil, err
	}
	planes := a.Shape()[0]
	return &origin{
		spec: zarr.Spec{
			Shape: a.Shape(), Type: a.Type(), Chunks: listed(a.Grid()), FillValue: a.FillValue(), Codecs: doc.Codecs,
			KeyEncoding: keys, DimensionNames: a.DimensionNames(), Attributes: json.RawMessage(facts.AttributesOf(doc)),
		},
		fill: func(ctx context.Context, box grid.Box, dst []byte) error {
			if box[0].Stop <= planes {
				return a.ReadBytes(ctx, box, dst)
			}
			plane, size := slices.Clone(box), int64(len(dst))/box[0].Len()
			for k := range box[0].Len() {
				i := box[0].Start + k
				if i >= planes {
					i = ((i-appended)%planes + planes) % planes
				}
				plane[0] = grid.Interval{Start: i, Stop: i + 1}
				if err := a.ReadBytes(ctx, plane, dst[k*size:(k+1)*size]); err != nil {
					return err
				}
			}
			return nil
		},
		plane: func(i int64) string { return "plane " + phrase.Count(i) },
		story: "a copy, chunk for chunk",
	}, nil
}

// listed returns the cuts of a grid with the lengths along axis 0 listed, up to the
// extent, so that appends add to the list.
func listed(g *grid.Grid) []grid.Cut {
	cuts := []grid.Cut{grid.Runs(g.Axis(0).Sizes()...)}
	for i := 1; i < g.Rank(); i++ {
		if a := g.Axis(i); a.IsRegular() {
			cuts = append(cuts, grid.Every(a.Step()))
		} else {
			cuts = append(cuts, grid.Runs(slices.Collect(a.Edges())...))
		}
	}
	return cuts
}

// archive writes what is there before anything is appended.
func (d *demo) archive(ctx context.Context) error {
	begun := time.Now()
	if _, err := d.h.At("").CreateGroup(ctx, nil, nil); err != nil {
		return err
	}
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
		if err := a.WriteBytes(ctx, box, buffer); err != nil {
			return err
		}
		bar.Add(int64(len(buffer)))
	}
	if d.facts.Before, err = d.measure(a); err != nil {
		return err
	}
	return d.say("1  The archive: %s\n\n   %s  %s %s%s, %s\n   chunks   %s\n%s   stored   %s in %s, after %.1f s\n\n",
		d.origin.story, phrase.Printable(d.facts.Path), phrase.Shape(a.Shape()), a.Type(), phrase.Printable(facts.NamesText(a.Metadata().DimensionNames)),
		phrase.Bytes(d.bytes(grid.BoxOf(a.Shape()))), phrase.Chunks(a.Grid()), d.conversion(),
		phrase.Bytes(d.facts.Before.Bytes), phrase.Plural(d.facts.Before.Chunks, "chunk"), time.Since(begun).Seconds())
}

// conversion says that the copy has another kind of grid.
func (d *demo) conversion() string {
	if !d.facts.MadeRectilinear {
		return ""
	}
	return "   grid     regular in the original; rectilinear here, with the same lengths listed, so that it grows by any length\n"
}

// values returns the elements that a box is to hold, in the buffer where it is large
// enough.
func (d *demo) values(ctx context.Context, box grid.Box, buffer []byte) ([]byte, error) {
	n := int(d.bytes(box))
	buffer = slices.Grow(buffer[:0], n)[:n]
	return buffer, d.origin.fill(ctx, box, buffer)
}

// bytes returns the bytes that the elements of a box take, or as many as can be counted.
func (d *demo) bytes(box grid.Box) int64 {
	n, ok := box.Len()
	if ok {
		n, ok = checked.Mul(n, int64(d.origin.spec.Type.Size()))
	}
	if !ok {
		return math.MaxInt64
	}
	return n
}

// grow appends planes one by one and looks at the directory before and after each.
func (d *demo) grow(ctx context.Context) error {
	// Chunks of nothing but the fill value are stored too: every append writes the same
	// number of chunks.
	a, err := d.h.At(d.name).OpenArray(ctx, &zarr.Options{Write: true, StoreFill: true})
	if err != nil {
		return err
	}
	if err := d.say("2  %d appends, as the files tell\n\n   %-12s %10s %10s %10s %12s\n", appended, "", "new chunks", "bytes", "zarr.json", "other files"); err != nil {
		return err
	}
	before, err := look(d.dir)
	if err != nil {
		return err
	}
	for range appended {
		if before, err = d.appendPlane(ctx, a, before); err != nil {
			return err
		}
	}
	if d.facts.After, err = d.measure(a); err != nil {
		return err
	}
	return d.summary()
}

// appendPlane appends one plane, checks what changed since the directory was last looked
// at, and looks again.
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
	after, err := look(d.dir)
	if err != nil {
		return nil, err
	}
	f := appendFacts{Index: box[0].Start}
	for path := range before.changes(after) {
		d.classify(&f, path, old.Chunks(), after[path])
	}
	d.facts.Appends = append(d.facts.Appends, f)
	want, ok := checked.Product(old.Chunks()[1:]...)
	if !ok || f.NewChunks != want || f.Documents != 1 || f.Others != 0 {
		return nil, fmt.Errorf("%s: the append of %s wrote %d new chunks (%d expected), %d documents (1 expected) and %d other files (none expected)",
			d.facts.Path, d.origin.plane(f.Index), f.NewChunks, want, f.Documents, f.Others)
	}
	return after, d.say("   %-12s %10s %10s %10s %12s\n", d.origin.plane(f.Index), phrase.Count(f.NewChunks), phrase.Bytes(f.NewBytes), phrase.Bytes(f.DocumentBytes), phrase.Count(f.Others))
}

// classify counts a file that was written, replaced or removed, in which case it has no
// info.
func (d *demo) classify(f *appendFacts, path string, chunks []int64, info fs.FileInfo) {
	key, ok := strings.CutPrefix(path, d.name+"/")
	index, isChunk := d.origin.spec.KeyEncoding.ParseKey(key, len(chunks), nil)
	switch {
	case info == nil || !ok:
		f.Others++
	case key == "zarr.json":
		f.Documents++
		f.DocumentBytes += info.Size()
	case isChunk && index[0] >= chunks[0]:
		f.NewChunks++
		f.NewBytes += info.Size()
	default:
		f.Others++
	}
}

// summary says what all appends wrote together.
func (d *demo) summary() error {
	var objects, size int64
	for _, f := range d.facts.Appends {
		objects += f.NewChunks + f.Documents
		size += f.NewBytes + f.DocumentBytes
	}
	return d.say("\n   Together %s files and %s were written. The files of the %s from before (%s) are the same still.\n\n",
		phrase.Count(objects), phrase.Bytes(size), phrase.Plural(d.facts.Before.Chunks, "chunk"), phrase.Bytes(d.facts.Before.Bytes))
}

// draw shows the grid as it is now.
func (d *demo) draw(ctx context.Context) error {
	a, err := d.h.At(d.name).OpenArray(ctx, nil)
	if err != nil {
		return err
	}
	d.facts.ChunkGrid = gridJSON(a.Grid())
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
	return d.say("3  The grid now: %s\n\n%s\n", chunkCount(a.Grid()), drawing.String())
}

// readBack reads what was written with an array that is opened anew, and compares every
// value.
func (d *demo) readBack(ctx context.Context) error {
	a, err := zarr.OpenArray(ctx, d.facts.Path, nil)
	if err != nil {
		return err
	}
	defer a.Close()
	seam := grid.BoxOf(a.Shape())
	old := seam[0].Stop - appended
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
		return fmt.Errorf("%s: %d of %d values were compared", d.facts.Path, d.facts.Values, all)
	}
	return d.say("4  Read back and compared, value by value\n\n   %-38s %14s values, all equal\n   %-38s %14s values, all equal\n\n",
		"across the seam, "+d.origin.plane(seam[0].Start)+" on", phrase.Count(d.facts.SeamValues), "everything", phrase.Count(d.facts.Values))
}

// check compares the elements of a box with what they have to be, bit for bit, and
// returns how many there are.
func (d *demo) check(ctx context.Context, a *zarr.Array, box grid.Box) (int64, error) {
	want, err := d.values(ctx, box, nil)
	if err != nil {
		return 0, err
	}
	got := make([]byte, len(want))
	if err := a.ReadBytes(ctx, box, got); err != nil {
		return 0, err
	}
	size := d.origin.spec.Type.Size()
	if !bytes.Equal(got, want) {
		i := 0
		for got[i] == want[i] {
			i++
		}
		return 0, fmt.Errorf("%w: %s: value %d of elements %v is not what was written", zarr.ErrCorrupt, d.facts.Path, i/size, box)
	}
	return int64(len(got) / size), nil
}

// end prints the facts for programs, and for people what to look at next.
func (d *demo) end(context.Context) error {
	if session.WantsJSON(d.cmd) {
		return session.PrintJSON(d.cmd, d.facts)
	}
	zeros := strings.Repeat(",0", len(d.facts.After.Shape)-1)
	last := d.facts.After.Shape[0] - 1
	axes := ""
	if len(zeros) > 0 {
		axes = " --axes 1,0"
	}
	return d.say(`The archive stays in %[1]s. To look around:

   %[6]s info --stats %[2]s
   %[6]s grid %[2]s%[5]s --locate %[3]d%[4]s
   %[6]s cat %[2]s --select %[3]d%[4]s
   %[6]s tree %[1]s
`, d.dir, phrase.Printable(d.facts.Path), last, zeros, axes, thisCommand())
}

func (d *demo) say(format string, args ...any) error {
	_, err := fmt.Fprintf(d.out, format, args...)
	return err
}

// measure returns what the directory holds of the array.
func (d *demo) measure(a *zarr.Array) (archiveFacts, error) {
	f := archiveFacts{Shape: a.Shape()}
	files, err := look(d.dir)
	for path, info := range files {
		key, _ := strings.CutPrefix(path, d.name+"/")
		if _, ok := d.origin.spec.KeyEncoding.ParseKey(key, a.Rank(), nil); ok {
			f.Chunks++
			f.Bytes += info.Size()
		}
	}
	return f, err
}

// snapshot is what the files of a directory are at one time, by their paths with slashes.
type snapshot map[string]fs.FileInfo

// look returns the files below dir, without those that the store keeps for itself, as
// locks are.
func look(dir string) (snapshot, error) {
	s := snapshot{}
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() || strings.HasPrefix(e.Name(), "__") {
			return err
		}
		rel, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		s[filepath.ToSlash(rel)], err = e.Info()
		return err
	})
	return s, err
}

// changes yields the paths of the files that are new, removed, or not what they were:
// another file, size or time.
func (s snapshot) changes(after snapshot) iter.Seq[string] {
	return func(yield func(string) bool) {
		for path, was := range s {
			is, ok := after[path]
			if ok && os.SameFile(was, is) && was.Size() == is.Size() && was.ModTime().Equal(is.ModTime()) {
				continue
			}
			if !yield(path) {
				return
			}
		}
		for path := range after {
			if _, ok := s[path]; !ok && !yield(path) {
				return
			}
		}
	}
}
