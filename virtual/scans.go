// SPDX-License-Identifier: Apache-2.0

package virtual

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/klauspost/compress/zstd"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/missing"
	"varve.dev/zarr/internal/snapshot"
	"varve.dev/zarr/metadata"
	"varve.dev/zarr/store"
	"varve.dev/zarr/virtual/internal/fits"
	"varve.dev/zarr/virtual/internal/grib"
	"varve.dev/zarr/virtual/internal/hdf5"
	"varve.dev/zarr/virtual/internal/netcdf3"
	"varve.dev/zarr/virtual/internal/numpy"
	"varve.dev/zarr/virtual/internal/tiff"
	"varve.dev/zarr/virtual/scan"

	// Codecs of the chunks of files.
	"varve.dev/zarr/internal/byteorder"
	_ "varve.dev/zarr/internal/codecs/grib2"
	_ "varve.dev/zarr/internal/codecs/numcodecs"
	"varve.dev/zarr/internal/quantity"
)

// scans stores the scans of a collector, so that an interrupted collection can be
// resumed. Each value below scan/ is one Zstandard frame of lines of JSON: a
// scanHeader, and a scanRecord for each of its sources. They are written once, under new
// names, so that two collections at once do not disturb each other. A file counts as
// scanned only if it has the size, and the time or the version, that it had then.
type scans struct {
	into store.Store
	path store.Path

	reading gate        // held while a value is read
	recent  []scanLines // decoded values, the last one used last

	mu      sync.Mutex
	known   map[string]scanPlace // by the location of the file
	own     []string             // the values that this collection has stored, and those that no collection can use
	found   []foundScans         // the values of others
	asked   map[string]bool      // the locations of the files of this collection
	in      locations            // what the manifest has after a collection
	sources []Source             // of the records that are not stored yet
	lines   [][]byte             // these records
	size    int                  // their bytes
	since   time.Time            // when the last value was stored
	every   time.Duration        // see keepEvery
}

// scanHeader is the first line of a value.
type scanHeader struct {
	Version  int              `json:"varve_scan"`
	Scanners int              `json:"scanners"`
	Others   map[string]int   `json:"other_scanners,omitempty"` // versions of those that are registered
	Little   bool             `json:"little_endian"`            // the order of bytes in values
	Sources  scanList[Source] `json:"sources"`
}

// scannersVersion is the version of what scanners find. Raise it whenever a scan of the
// same file has another result than before: a repaired fault, an array or attribute that
// was left out, another codec. Scans of other versions are not used.
const scannersVersion = 4

// foundScans is a value that another collection has stored.
type foundScans struct {
	name    string
	sources []Source
}

// scanPlace is where a record is.
type scanPlace struct {
	source Source
	name   string // of the value
	line   int
}

// scanLines is a decoded value.
type scanLines struct {
	name  string
	lines [][]byte
}

const (
	// keepEvery is the time after which records are stored. What is lost by a kill is the
	// work of so much time.
	keepEvery = 5 * time.Second
	// keepFiles and keepBytes are the number of records and their bytes that are stored
	// at once at the latest.
	keepFiles = 256
	keepBytes = 8 << 20
	// mostScans bounds a decoded value in bytes, and mostScanValue a stored one.
	mostScans     = 64 << 20
	mostScanValue = 64 << 20
	// mostScanned bounds the sources of a value, and the nodes in one file whose scan is
	// kept.
	mostScanned = 1 << 16
	// recentScans is the number of decoded values in memory. Records are asked for in
	// about the order in which they were stored.
	recentScans = 3
)

// scanFolder has the values, in the folder of a manifest.
const scanFolder = "scan"

var scanDecoder, _ = zstd.NewReader(nil, zstd.WithDecoderConcurrency(0), zstd.WithDecoderMaxMemory(mostScans))

// Keep makes the collector store its scans in the folder of a manifest, and use those
// that an interrupted collection has left there: a file that has not changed since is
// not scanned again. A change shows by the size of the file and by its time or, in an
// object store, by its version. Files without a known time or version, Zarr nodes and
// manifests are always read again. Scans are stored every few seconds. Call
// [Collector.Forget] after the manifest is stored.
//
// A file is scanned again if its stored scan cannot be read.
func (c *Collector) Keep(ctx context.Context, s store.Store, path store.Path) error {
	k := &scans{into: s, path: path, reading: newGate(), known: map[string]scanPlace{}, asked: map[string]bool{}, since: time.Now(), every: cmp.Or(c.keepAfter, keepEvery)}
	dir, err := path.Join(scanFolder)
	if err != nil {
		return err
	}
	for e, err := range store.List(ctx, s, dir, store.Flat) {
		// Kept scans only save time, so a store that cannot list is no error.
		if errors.Is(err, store.ErrUnsupported) || errors.Is(err, fs.ErrNotExist) {
			break // nothing can be found
		}
		if err != nil {
			return err
		}
		if !e.Dir && isID(e.Name) {
			if err := k.learn(ctx, e.Name); err != nil {
				return err
			}
		}
	}
	c.scans = k
	return nil
}

// learn notes the sources of a value.
func (k *scans) learn(ctx context.Context, name string) error {
	lines, err := k.read(ctx, name)
	if errors.Is(err, scan.ErrCorrupt) {
		// No collection can use a damaged value: Forget deletes it like the own ones.
		k.own = append(k.own, name)
		return nil
	}
	if err != nil {
		return err
	}
	var h scanHeader
	if json.Unmarshal(lines[0], &h) != nil || h.Version != version || len(h.Sources) != len(lines)-1 {
		return nil // of another program
	}
	k.found = append(k.found, foundScans{name, h.Sources})
	// Scans of other versions of the scanners may differ. Elements of coordinates are
	// in the byte order of the host that scanned them.
	if h.Scanners != scannersVersion || !h.sameOthers() || h.Little != byteorder.Little() {
		return nil // scan again
	}
	for i, source := range h.Sources {
		k.known[source.Location] = scanPlace{source, name, i + 1}
	}
	return nil
}

// read returns the lines of a value.
func (k *scans) read(ctx context.Context, name string) ([][]byte, error) {
	key, err := k.path.Key(scanFolder + "/" + name)
	if err != nil {
		return nil, err
	}
	data, _, err := k.into.Get(ctx, key, store.Request{Limit: mostScanValue}, nil)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, store.ErrTooLarge) {
		return nil, scan.Corruptf("%s: %v", key, err)
	}
	if err != nil {
		return nil, err
	}
	text, err := scanDecoder.DecodeAll(data, nil)
	if err != nil {
		return nil, scan.Corruptf("%s: %v", key, err)
	}
	// Splitting takes 24 bytes for each line, however short.
	if bytes.Count(text, []byte("\n")) > mostScanned {
		return nil, scan.Corruptf("%s: more than %s", key, quantity.Count(mostScanned, "scans"))
	}
	return bytes.Split(text, []byte("\n")), nil
}

// contains reports whether a file was scanned, perhaps in another version.
func (k *scans) contains(location string) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	_, ok := k.known[location]
	return ok
}

// find returns what was found in a file, or nil unless it is the same file still.
func (k *scans) find(ctx context.Context, now Source, open func(ctx context.Context) (*Part, error)) (*Part, error) {
	k.mu.Lock()
	at, ok := k.known[now.Location]
	k.mu.Unlock()
	// Size alone does not identify a file: an equal size is no proof that it is the same.
	if !ok || at.source != now || now.Modified == 0 && now.Version == "" {
		return nil, nil
	}
	lines, err := k.decoded(ctx, at.name)
	if errors.Is(err, scan.ErrCorrupt) {
		return nil, nil // another collection has ended, and has removed it
	}
	if err != nil {
		return nil, err
	}
	if at.line >= len(lines) {
		return nil, nil
	}
	m, r, err := parseRecord(lines[at.line], now)
	if err != nil {
		return nil, nil
	}
	return r.part(m, open), nil
}

// decoded returns the lines of a value, which it keeps for the next call.
func (k *scans) decoded(ctx context.Context, name string) ([][]byte, error) {
	if err := k.reading.lock(ctx); err != nil {
		return nil, err
	}
	defer k.reading.unlock()
	for i, r := range k.recent {
		if r.name == name {
			// Files are asked for in their order, so the last value used is needed next.
			k.recent = append(slices.Delete(k.recent, i, i+1), r)
			return r.lines, nil
		}
	}
	lines, err := k.read(ctx, name)
	if err != nil {
		return nil, err
	}
	k.recent = append(k.recent[max(0, len(k.recent)+1-recentScans):], scanLines{name, lines})
	return lines, nil
}

// add keeps a part that was scanned.
func (k *scans) add(ctx context.Context, p *Part) error {
	// Nodes and manifests have no single size and time that tell whether they have
	// changed.
	if !p.isFile || p.Kept {
		return nil
	}
	line, err := recordOf(p, maps.Clone(p.read))
	// A value must fit the limit of its reader.
	if err != nil || len(line) > mostScans/2 {
		return err
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.sources, k.lines, k.size = append(k.sources, p.Manifest.Sources[0]), append(k.lines, line), k.size+len(line)
	if len(k.lines) < keepFiles && k.size < keepBytes && time.Since(k.since) < k.every {
		return nil
	}
	return k.store(ctx)
}

// flush stores what is not stored yet.
func (k *scans) flush(ctx context.Context) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if len(k.lines) == 0 {
		return nil
	}
	return k.store(ctx)
}

// store stores the records as a value.
func (k *scans) store(ctx context.Context) error {
	head, err := json.Marshal(scanHeader{version, scannersVersion, others(), byteorder.Little(), k.sources})
	if err != nil {
		return err
	}
	text := append(head, '\n')
	text = append(text, bytes.Join(k.lines, []byte("\n"))...)
	name := newID()
	key, err := k.path.Key(scanFolder + "/" + name)
	if err == nil {
		_, err = store.Write(ctx, k.into, store.Put(key, blockEncoder.EncodeAll(text, nil)), store.Flush)
	}
	if err != nil {
		return fmt.Errorf("keeping what was scanned: %w", err)
	}
	k.own = append(k.own, name)
	for i, source := range k.sources {
		k.known[source.Location] = scanPlace{source, name, i + 1}
	}
	k.sources, k.lines, k.size, k.since = nil, nil, 0, time.Now()
	return nil
}

// Forget deletes the scans that the collector has stored ([Collector.Keep]), after the
// manifest is stored. Scans of other collections stay, unless the manifest has all of
// their files.
func (c *Collector) Forget(ctx context.Context) error {
	if c.scans == nil {
		return nil
	}
	k := c.scans
	k.mu.Lock()
	defer k.mu.Unlock()
	names := k.own
	for _, f := range k.found {
		// All files of the other collection are in the manifest, so it has nothing to
		// resume.
		if !slices.ContainsFunc(f.sources, func(s Source) bool { return !k.in.contains(s.Location) }) {
			names = append(names, f.name)
		}
	}
	var errs []error
	for _, name := range names {
		key, err := k.path.Key(scanFolder + "/" + name)
		if err == nil {
			_, err = store.Write(ctx, k.into, store.Delete(key), store.Sync)
		}
		if !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, err)
		}
	}
	k.own, k.found, k.known = nil, nil, map[string]scanPlace{}
	return errors.Join(errs...)
}

// Kept returns the number of files of the collection whose scans are stored, so that they
// need not be scanned again if it is repeated.
func (c *Collector) Kept() (n int) {
	if c.scans == nil {
		return 0
	}
	k := c.scans
	k.mu.Lock()
	defer k.mu.Unlock()
	for location := range k.known {
		if k.asked[location] {
			n++
		}
	}
	return n
}

// ask notes a file of the collection.
func (k *scans) ask(location string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.asked[location] = true
}

// Refusal is an array that cannot be referenced, or another part of a file that is left
// out ([scan.Omission]), and why.
type Refusal struct {
	Path string
	Err  error
	// Array is set if it is an array or another node, and not an attribute, a link or a
	// part of one.
	Array bool
	// More counts values without documents that are not listed, after the last one that
	// is.
	More int64
}

// New returns the manifest of a file that was scanned. Arrays that cannot be referenced
// and nodes with names that a manifest cannot have are left out and listed, and so is
// what the scanner has omitted.
func New(source Source, found *scan.Dataset) (*Manifest, []Refusal, error) {
	m := &Manifest{Sources: []Source{source}}
	var refused []Refusal
	for _, g := range found.Groups {
		if err := checkPath(g.Path); err != nil {
			refused = append(refused, Refusal{Path: g.Path, Err: err, Array: true})
			continue
		}
		attributes, err := attributesOf(g.Attributes)
		if err != nil {
			return nil, nil, fmt.Errorf("group %q: %w", g.Path, err)
		}
		m.Groups = append(m.Groups, Group{g.Path, &metadata.Group{Attributes: attributes}})
	}
	for _, a := range found.Arrays {
		if err := cmp.Or(a.Refused, checkPath(a.Path)); err != nil {
			refused = append(refused, Refusal{Path: a.Path, Err: err, Array: true})
			continue
		}
		// A limit concerns this array only. Any other error shows that the scan is wrong.
		made, err := fromScanned(a, source.Size)
		if errors.Is(err, ErrLimit) {
			refused = append(refused, Refusal{Path: a.Path, Err: err, Array: true})
			continue
		}
		if err != nil {
			return nil, nil, fmt.Errorf("%q: %w", a.Path, err)
		}
		m.Arrays = append(m.Arrays, made)
	}
	for _, o := range found.Omitted {
		refused = append(refused, Refusal{Path: o.Path, Err: o.Reason})
	}
	m.sort()
	return m, refused, nil
}

// attributesOf returns attributes in the spelling of package metadata.
func attributesOf(a scan.Attributes) ([]byte, error) {
	text, err := a.JSON()
	if err != nil {
		return nil, err
	}
	return metadata.ParseAttributesV2(text, metadata.Limits{})
}

// fromScanned returns an array with the references of one file.
func fromScanned(s *scan.Array, size int64) (*Array, error) {
	s = inSlabs(s)
	cuts := make([]grid.Cut, len(s.Shape))
	for i, n := range s.Chunk {
		if cuts[i] = grid.Every(n); s.Short && s.Shape[i]%n != 0 {
			cuts[i] = shortEdges(s.Shape[i], n)
		}
	}
	g, err := grid.New(s.Shape, cuts...)
	if err != nil {
		return nil, err
	}
	doc, err := documentOf(s, g)
	if err != nil {
		return nil, err
	}
	if err := checkAbsent(g, int64(len(s.Chunks))); err != nil {
		return nil, err
	}
	a, err := newArray(s.Path, doc, g, 0)
	if err != nil {
		return nil, err
	}
	if a.points, err = pointsOf(s); err != nil {
		return nil, err
	}
	for _, c := range s.Chunks {
		switch {
		case c.Number < 0 || c.Number >= int64(a.refs.len()):
			return nil, scan.Corruptf("chunk %d of %d", c.Number, a.refs.len())
		case c.Data != nil:
			a.setInline(c.Number, c.Data)
		case c.Offset < 0 || c.Length < 0 || size > 0 && c.Offset > size-c.Length:
			return nil, scan.Corruptf("chunk %d has %s at %d, in a file of %d", c.Number, quantity.Count(c.Length, "bytes"), c.Offset, size)
		default:
			a.refs.set(int(c.Number), reference{1, uint64(c.Offset), uint64(c.Length)})
		}
	}
	return a, nil
}

// checkAbsent returns an error if most chunks of a large array are not stored: a small
// file can declare any number of chunks that it does not have.
func checkAbsent(g *grid.Grid, stored int64) error {
	if n, ok := g.NumChunks(); !ok || !fewAbsent(n, stored) {
		return fmt.Errorf("%w: it has %v chunks, of which %d count as stored", ErrLimit, g.Chunks(), stored)
	}
	return nil
}

// fewAbsent reports whether an array may have so many chunks of which so many are stored.
// A manifest takes some 20 bytes of memory for each.
func fewAbsent(chunks, stored int64) bool { return chunks <= mostAbsent+64*stored }

// mostAbsent is the number of chunks that an array of a file may have without storing
// any.
const mostAbsent = 1 << 20

// shortEdges cuts an axis into edges of one length and a shorter last one.
func shortEdges(extent, edge int64) grid.Cut {
	if extent < edge {
		return grid.Edges(extent)
	}
	return grid.Runs(grid.Run{Length: edge, Count: extent / edge}, grid.Run{Length: extent % edge, Count: 1})
}

// documentOf returns the document of an array.
func documentOf(s *scan.Array, g *grid.Grid) (*metadata.Array, error) {
	fill := s.Fill
	if fill == nil {
		fill = s.Type.Default()
	}
	fillJSON, err := s.Type.FormatFill(fill)
	if err != nil {
		return nil, err
	}
	attributes, err := attributesOf(s.Attributes)
	if err != nil {
		return nil, err
	}
	if attributes, err = missingForXarray(s, attributes); err != nil {
		return nil, err
	}
	doc := &metadata.Array{
		Shape: s.Shape, DataType: metadata.Extension{Name: s.Type.Name(), Configuration: s.Type.Configuration()},
		ChunkGrid: snapshot.GridExtension(g, 0), ChunkKeyEncoding: metadata.DefaultSlash.Extension(),
		FillValue: fillJSON, Codecs: s.Codecs, Attributes: attributes,
	}
	for _, name := range s.Names {
		if name == "" {
			doc.DimensionNames = append(doc.DimensionNames, nil)
			continue
		}
		doc.DimensionNames = append(doc.DimensionNames, &name)
	}
	return doc, nil
}

// missingForXarray gives the attribute _FillValue the form that xarray expects in format
// 3, which is text for floats.
func missingForXarray(s *scan.Array, attributes []byte) ([]byte, error) {
	const name = "_FillValue"
	raw, ok, err := metadata.Attribute(attributes, name)
	if !ok || err != nil {
		return attributes, err
	}
	unsigned, _, err := metadata.Attribute(attributes, "_Unsigned")
	if err != nil {
		return nil, err
	}
	// xarray refuses to open the whole group because of one such attribute.
	if reason, wanted := missing.Refused(s.Type, unsigned, raw); reason != "" && wanted != nil {
		return metadata.SetAttribute(attributes, name, wanted)
	}
	return attributes, nil
}

// Scanner finds the arrays of files of a format. [Register] makes it known.
type Scanner struct {
	// Format names the format, such as "NetCDF-3".
	Format string
	// Version is that of what Scan finds. Raise it whenever a scan of the same file has
	// another result: what interrupted collections have kept of other versions is not
	// used ([Collector.Keep]).
	Version int
	// Matches reports whether a file is of the format. It should look at the first
	// bytes only, which are in memory.
	Matches func(*scan.File) bool
	// Scan returns what is in the file. It reads only metadata. Files are hostile until
	// proven otherwise: it checks every offset and count that it reads, and takes no more
	// memory than the metadata that the file really has. Every chunk that it returns is
	// checked to lie within the file.
	Scan func(*scan.File) (*scan.Dataset, error)
}

// builtIn are the formats that this package knows.
var builtIn = []Scanner{
	{"HDF5 and NetCDF-4", scannersVersion, hdf5.Matches, hdf5.Scan},
	{"NetCDF-3", scannersVersion, netcdf3.Matches, netcdf3.Scan},
	{"NumPy", scannersVersion, numpy.Matches, numpy.Scan},
	{"TIFF", scannersVersion, tiff.Matches, tiff.Scan},
	{"FITS", scannersVersion, fits.Matches, fits.Scan},
	{"GRIB2", scannersVersion, grib.Matches, grib.Scan},
}

var registered struct {
	sync.RWMutex
	scanners []Scanner
}

// Register makes a scanner known to all collectors, as init functions of packages do.
// Such scanners are asked for a file in the order of their registration, and before those
// of this package: a format may be a special form of another one. The codecs of its
// chunks have to be registered, too (package codec). It panics if a function is missing,
// or if a format has the name of another one.
func Register(s Scanner) {
	registered.Lock()
	defer registered.Unlock()
	if s.Format == "" || s.Matches == nil || s.Scan == nil {
		panic("virtual: a scanner without a format, Is or Scan")
	}
	for _, o := range slices.Concat(registered.scanners, builtIn) {
		if o.Format == s.Format {
			panic(fmt.Sprintf("virtual: the format %q is registered twice", s.Format))
		}
	}
	registered.scanners = append(registered.scanners, s)
}

// scannerOf returns the scanner of a file, and false if its format is not known.
func scannerOf(f *scan.File) (Scanner, bool) {
	for _, s := range scanners() {
		if s.Matches(f) {
			return s, true
		}
	}
	return Scanner{}, false
}

// scanners returns all scanners. The first one that recognizes a file scans it.
func scanners() []Scanner {
	registered.RLock()
	defer registered.RUnlock()
	return slices.Concat(registered.scanners, builtIn)
}

// formats lists the formats that scanners know.
func formats() string {
	var names []string
	for _, s := range scanners() {
		names = append(names, s.Format)
	}
	return strings.Join(names, ", ")
}

// others returns the versions of the scanners of other packages, by their format.
func others() map[string]int {
	registered.RLock()
	defer registered.RUnlock()
	versions := map[string]int{}
	for _, s := range registered.scanners {
		versions[s.Format] = s.Version
	}
	return versions
}

// sameOthers reports whether the scanners of other packages are those of a value with
// kept scans.
func (h *scanHeader) sameOthers() bool { return maps.Equal(h.Others, others()) }
