// SPDX-License-Identifier: Apache-2.0

package virtual

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"sync"
	"time"

	"github.com/klauspost/compress/zstd"
	"varve.dev/zarr/internal/byteorder"
	"varve.dev/zarr/internal/quantity"
	"varve.dev/zarr/store"
	"varve.dev/zarr/virtual/scan"

	// Codecs of the chunks of files.
	_ "varve.dev/zarr/internal/codecs/grib2"
	_ "varve.dev/zarr/internal/codecs/numcodecs"
)

// scans stores the scans of a collector, so that an interrupted collection can be
// resumed. Each value below scan/ is one Zstandard frame of lines of JSON: a
// scanHeader, and a scanRecord for each of its sources. They are written once, under new
// names, so that two collections at once do not disturb each other. A file counts as
// scanned only if it has the size, and the time or the version, that it had then.
type scans struct {
	into store.Store
	path store.Path

	reading gate                    // held while a value is read
	recent  cache[string, [][]byte] // the lines of the values that were used last

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
	// recentScans is the number of decoded values in memory. Records are asked for in
	// about the order in which they were stored.
	recentScans = 3
)

var scanDecoder, _ = zstd.NewReader(nil, zstd.WithDecoderConcurrency(0), zstd.WithDecoderMaxMemory(mostScans))

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
	return k.recent.get(ctx, name, func() ([][]byte, int64, error) {
		lines, err := k.read(ctx, name)
		return lines, 0, err
	})
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

// ask notes a file of the collection.
func (k *scans) ask(location string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.asked[location] = true
}

// sameOthers reports whether the scanners of other packages are those of a value with
// kept scans.
func (h *scanHeader) sameOthers() bool { return maps.Equal(h.Others, others()) }
