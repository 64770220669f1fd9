// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"math"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"varve.dev/zarr"
	"varve.dev/zarr/cmd/varve/internal/facts"
	"varve.dev/zarr/cmd/varve/internal/failure"
	"varve.dev/zarr/cmd/varve/internal/node"
	"varve.dev/zarr/cmd/varve/internal/phrase"
	"varve.dev/zarr/cmd/varve/internal/place"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/metadata"
	"varve.dev/zarr/selection"
	"varve.dev/zarr/store"
	"varve.dev/zarr/store/filestore"
)

// origin provides the elements.
type origin struct {
	spec zarr.Spec
	// fill writes the elements of a box to dst, in C order and in the byte order of the
	// host. Along axis 0 the box may reach into the planes that are appended.
	fill func(ctx context.Context, box grid.Box, dst []byte) error
	// plane names an index of axis 0.
	plane func(index int64) string
	story string
}

// Shape of the daily fields: five years of days, and a grid of five degrees.
var (
	years                 = []int64{365, 365, 365, 366, 365}
	firstDay              = time.Date(2021, time.January, 1, 0, 0, 0, 0, time.UTC)
	latitudes       int64 = 36
	longitudes      int64 = 72
	fieldAttributes       = map[string]string{"long_name": "made-up surface temperature", "units": "K", "first_day": firstDay.Format(time.DateOnly)}
)

// dailyFields returns an origin that computes its elements.
func dailyFields() *origin {
	var days int64
	for _, y := range years {
		days += y
	}
	return &origin{
		spec: zarr.Spec{
			Shape: []int64{days, latitudes, longitudes}, Type: dtype.Float32,
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
		story: "five years of daily fields, one chunk for each year",
	}
}

// temperature returns a temperature in kelvin, with two decimals. It is colder towards
// the poles and in winter, with weather that moves east.
func temperature(day, lat, lon int64) float32 {
	north := math.Sin((float64(lat)+0.5)/float64(latitudes)*math.Pi - math.Pi/2)
	summer := -math.Cos(2 * math.Pi * float64(day) / 365.2425)
	weather := math.Sin(6*math.Pi*float64(lon)/float64(longitudes) - 0.7*float64(day))
	t := 300 - 45*north*north + 15*north*summer + 3*weather*(1-north*north)
	return float32(math.Round(100*t) / 100)
}

// copyOf takes the elements from the node at a location. It returns the array, which the
// caller must close.
func (d *demo) copyOf(location string) (*zarr.Array, error) {
	url := strings.TrimRight(location, "/")
	if place.Within(location, d.dir) || d.dir == url || isRemote(d.dir) && strings.HasPrefix(d.dir, url+"/") {
		return nil, failure.BadArgument("%s is inside %s, which must not change: name another directory", d.dir, location)
	}
	n, err := node.Open(d.cmd, location)
	if err != nil {
		return nil, err
	}
	a, err := firstArray(d.cmd.Context(), location, n)
	if err != nil {
		return nil, errors.Join(err, n.Close())
	}
	d.facts.From, d.facts.MadeRectilinear = &location, a.Grid().Name() == "regular"
	// An array at the root of its store has no name.
	if d.name = "data"; a.Path() != "" {
		d.name = path.Base(a.Path())
	}
	d.origin, err = repeated(a)
	return a, err
}

// firstArray returns the node if it is an array that can grow along axis 0. If it is a
// group, it returns the first such array below it.
func firstArray(ctx context.Context, location string, n zarr.Node) (*zarr.Array, error) {
	switch n := n.(type) {
	case *zarr.Array:
		if growable(n) {
			return n, nil
		}
		if n.Rank() == 0 {
			return nil, failure.BadArgument("%s is a scalar: it has no axis to grow along", location)
		}
		return nil, failure.BadArgument("%s has no elements that could be appended again", location)
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
	return nil, failure.BadArgument("%s has no array with elements", location)
}

// mostCopied is the size, in bytes of elements, up to which the free space is not
// checked.
const mostCopied = 4 << 30

// affordable returns an error if a huge array may not fit on the disk. free returns the
// free bytes at a directory, and false if they are unknown.
func (d *demo) affordable(free func(dir string) (int64, bool)) error {
	n := d.bytes(grid.BoxOf(d.origin.spec.Shape))
	if n <= mostCopied {
		return nil
	}
	room, ok := free(node.LocalPath(d.dir))
	if ok && n <= room {
		return nil
	}
	why := "the free space is unknown"
	if ok {
		why = "only " + phrase.Bytes(room) + " are free"
	}
	return fmt.Errorf("%w: %s has %s of elements, too much to copy: %s", zarr.ErrLimit, *d.facts.From, phrase.Bytes(n), why)
}

func growable(a *zarr.Array) bool { return a.Rank() > 0 && !slices.Contains(a.Shape(), 0) }

// repeated returns an origin with the elements of an array, whose last planes are
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
				return a.ReadBytes(ctx, selection.BoxOf(box), dst)
			}
			plane, size := slices.Clone(box), int64(len(dst))/box[0].Len()
			for k := range box[0].Len() {
				i := box[0].Start + k
				if i >= planes {
					// Appended planes repeat the last ones. If the array has fewer, they
					// start over.
					i = ((i-appended)%planes + planes) % planes
				}
				plane[0] = grid.Interval{Start: i, Stop: i + 1}
				if err := a.ReadBytes(ctx, selection.BoxOf(plane), dst[k*size:(k+1)*size]); err != nil {
					return err
				}
			}
			return nil
		},
		plane: func(i int64) string { return "plane " + phrase.Count(i) },
		story: "a copy, chunk for chunk",
	}, nil
}

// listed returns the cuts of a grid. Those of axis 0 are a list up to the extent, so
// appends add to the list.
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

// isRemote reports whether a location is not a path of this machine, but a URL as that of
// an object store.
func isRemote(location string) bool {
	return strings.Contains(location, "://") && !strings.HasPrefix(location, "file://")
}

// open opens the place of the archive, which is empty or does not exist yet. The caller
// calls end.
func (d *demo) open(ctx context.Context) (end func() error, err error) {
	if isRemote(d.dir) {
		if d.h, err = zarr.Locate(ctx, d.dir, store.Create); err != nil {
			return nil, err
		}
		d.facts.Path = strings.TrimRight(d.dir, "/") + "/" + d.name
	} else {
		s, err := filestore.Open(d.dir, &filestore.Options{Create: true})
		if err != nil {
			return nil, err
		}
		d.h, d.facts.Path = zarr.At(s, ""), filepath.ToSlash(filepath.Join(d.dir, d.name))
	}
	end = func() error { return store.Close(d.h.Store()) }
	values, err := d.list(ctx)
	if err == nil && len(values) > 0 {
		err = errNotEmpty
	}
	if err != nil {
		return nil, errors.Join(err, end())
	}
	return end, nil
}

// classify counts a value that was written, replaced or removed.
func (d *demo) classify(f *appendFacts, name string, chunks []int64, after snapshot) {
	key, ok := strings.CutPrefix(name, d.name+"/")
	index, isChunk := d.origin.spec.KeyEncoding.ParseKey(key, len(chunks), nil)
	is, there := after[name]
	switch {
	case !there || !ok:
		f.Others++
	case key == "zarr.json":
		f.Documents++
		f.DocumentBytes += is.Size
	case isChunk && index[0] >= chunks[0]:
		f.NewChunks++
		f.NewBytes += is.Size
	default:
		f.Others++
	}
}

// measure counts the stored chunks of the array and their bytes.
func (d *demo) measure(ctx context.Context, a *zarr.Array) (archiveFacts, error) {
	f := archiveFacts{Shape: a.Shape()}
	values, err := d.list(ctx)
	for name, e := range values {
		key, _ := strings.CutPrefix(name, d.name+"/")
		if _, ok := d.origin.spec.KeyEncoding.ParseKey(key, a.Rank(), nil); ok {
			f.Chunks++
			f.Bytes += e.Size
		}
	}
	return f, err
}

// snapshot has the values of the archive at one time, by their paths.
type snapshot map[string]store.Entry

// list returns the values of the archive, without those that Varve reserves, such as
// locks, which come and go with each append.
func (d *demo) list(ctx context.Context) (snapshot, error) {
	s := snapshot{}
	dir, err := store.ParsePath(d.h.Path())
	if err != nil {
		return nil, err
	}
	for e, err := range store.List(ctx, d.h.Store(), dir, store.Deep|store.WithVersions) {
		if err != nil {
			return nil, err
		}
		if !strings.Contains("/"+e.Name, "/__") {
			s[e.Name] = e
		}
	}
	return s, nil
}

// changes yields the paths of the values that are new, removed, or of another version.
func (s snapshot) changes(after snapshot) iter.Seq[string] {
	return func(yield func(string) bool) {
		for name, was := range s {
			if is, ok := after[name]; ok && is.Version == was.Version && is.Size == was.Size {
				continue
			}
			if !yield(name) {
				return
			}
		}
		for name := range after {
			if _, ok := s[name]; !ok && !yield(name) {
				return
			}
		}
	}
}
