// SPDX-License-Identifier: Apache-2.0

package virtual

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"time"

	"varve.dev/zarr"
	"varve.dev/zarr/internal/parallel"
	"varve.dev/zarr/store"
)

// Collector scans files of any locations, and joins them in order.
type Collector struct {
	// Concurrency is the number of files that are scanned at once; 0 is 16.
	Concurrency int
	// Budget bounds the bytes of chunks that are copied at once, encoded and decoded. 0
	// is a sixteenth of the memory of the process.
	Budget int64
	// Memory bounds the bytes of memory that references take which come from manifests,
	// references of kerchunk and Zarr nodes among the files: 20 for each chunk, and the
	// locations. These may claim more chunks than they have bytes. 0 is 1.25 GiB, which
	// is 67 million chunks. What exceeds it is an [ErrLimit].
	Memory int64
	// Without lists patterns of [path.Match]. Arrays whose paths match one of them are
	// left out of all files.
	Without []string
	// Added is called for each file after it was added, if it is not nil.
	Added func(p *Part)
	// Copied is called for each chunk after it was copied without its padding, with the
	// number of those that are copied and that of all, if it is not nil. Calls do not
	// overlap.
	Copied func(done, total int64)

	files *opener
	// copyBytes is the size in bytes of the values that copies are stored in; 0 is the
	// usual one.
	copyBytes int
	// keepAfter is the time after which scans are kept; 0 is the usual one.
	keepAfter time.Duration
}

// NewCollector returns a collector for a manifest at a location: a folder whose name
// ends in [Suffix], or references for other programs: a file whose name ends in .json,
// for those of kerchunk in JSON, or a folder whose name ends in .parq or .parquet, for
// those in its parquet form ([Manifest.WriteKerchunk], [Manifest.CreateParquet]). The
// latter get absolute locations, because other programs take relative ones to be
// relative to themselves.
func NewCollector(location string) (*Collector, error) {
	p, err := placeOf(location)
	absolute := isReferences(p.path) && !strings.HasSuffix(p.path, Suffix)
	return &Collector{files: &opener{folder: p, absolute: absolute, given: map[place]string{}}}, err
}

// atOnce returns how many files are read at once.
func (c *Collector) atOnce() int {
	if c.Concurrency > 0 {
		return c.Concurrency
	}
	return 16
}

// Collect adds files to a hierarchy, in their order. A file that j has already is passed
// over, so that a collection that was interrupted can be repeated.
func (c *Collector) Collect(ctx context.Context, j *Joined, files []string) error {
	for _, pattern := range c.Without {
		if _, err := path.Match(pattern, ""); err != nil {
			return fmt.Errorf("%w: %q is no pattern of paths: %w", zarr.ErrInvalidArgument, pattern, err)
		}
	}
	known, err := j.known(ctx)
	if err != nil {
		return err
	}
	err = c.each(ctx, j, known, files, func(p *Part, err error) error { return c.add(ctx, j, p, err) })
	if c.files.scans != nil && err == nil {
		c.files.scans.in = known
	}
	return err
}

// Scan scans files that are to be added to a hierarchy, and keeps what it finds
// ([Collector.Keep]). A later collection, also of another process, need not scan them
// again. The hierarchy does not change.
func (c *Collector) Scan(ctx context.Context, j *Joined, files []string) error {
	if c.files.scans == nil {
		return fmt.Errorf("%w: nothing would be kept: call Keep before Scan", zarr.ErrInvalidArgument)
	}
	known, err := j.known(ctx)
	if err != nil {
		return err
	}
	err = c.each(ctx, j, known, files, func(p *Part, err error) error {
		if err == nil {
			err = c.files.scans.add(ctx, p)
		}
		if err == nil && c.Added != nil {
			c.Added(p)
		}
		return err
	})
	return errors.Join(err, c.files.scans.flush(store.Finishing(ctx)))
}

// each opens the files that are not known, several at once, and calls take for each in
// their order. It adds them to known.
func (c *Collector) each(ctx context.Context, j *Joined, known locations, files []string, take func(*Part, error) error) (err error) {
	type scanned struct {
		part *Part
		err  error
	}
	places, names := make([]place, 0, len(files)), make([]string, 0, len(files))
	for _, file := range files {
		p, err := placeOf(file)
		if err != nil {
			return fmt.Errorf("%s: %w", nameOf(file), err)
		}
		if !isReferences(p.path) { // else what is there decides
			c.files.give(p)
		}
		// A file that is named twice is added once.
		// The values of a Zarr node have no options in their locations.
		location := c.files.locationOf(p)
		if node, _ := cutQuery(location, p.scheme); !known.contains(location) && !known.contains(node) {
			if err := (&Source{Location: location}).checkLength(); err != nil { // scanning may take long
				return err
			}
			if c.files.scans != nil {
				c.files.scans.ask(location)
			}
			places, names = append(places, p), append(names, nameOf(file))
			known.add(location)
		}
	}
	if c.files.room == nil {
		c.files.room = newRoom(c.Memory)
	}
	atOnce := c.atOnce()
	outer := ctx
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	parallel.Prefetch(len(places), atOnce, atOnce, func(i int) (s scanned, bytes int) {
		if err := ctx.Err(); err != nil {
			return scanned{err: err}, 1
		}
		if s.part, s.err = c.files.open(ctx, places[i]); s.err != nil {
			s.err = fmt.Errorf("%s: %w", names[i], s.err)
			return s, bytesAhead / atOnce
		}
		// Messages call the file what the caller calls it.
		if s.part.Name = names[i]; !s.part.Kept {
			s.part.readAhead(ctx, j.join)
		}
		return s, bytesAhead / atOnce // so many are open at once
	}, func(s scanned) bool {
		// After an error, files that are open already are only kept and closed.
		err = cmp.Or(err, outer.Err())
		switch {
		case err == nil:
			err = take(s.part, s.err)
		case s.part != nil && c.files.scans != nil && outer.Err() != nil:
			err = errors.Join(err, c.files.scans.add(store.Finishing(outer), s.part))
		}
		if err != nil {
			cancel()
		}
		if s.part != nil {
			err = cmp.Or(err, s.part.close())
		}
		return true
	})
	if c.files.scans != nil && outer.Err() != nil { // what a signal has stopped is kept
		err = errors.Join(err, c.files.scans.flush(store.Finishing(outer)))
	}
	return err
}

// bytesAhead is what [parallel.Prefetch] holds at once.
const bytesAhead = 1 << 20

func (c *Collector) add(ctx context.Context, j *Joined, p *Part, err error) error {
	if err == nil {
		err = j.Add(ctx, c.taken(p))
	}
	if err == nil && c.files.scans != nil {
		err = c.files.scans.add(ctx, p)
	}
	if err == nil && c.Added != nil {
		c.Added(p)
	}
	return err
}

// taken returns the part without the arrays that are to be left out. What is kept of the
// scan has them: the next collection may take them.
func (c *Collector) taken(p *Part) *Part {
	out := func(name string) bool {
		return slices.ContainsFunc(c.Without, func(pattern string) bool {
			matched, _ := path.Match(pattern, name) // Collect has checked it
			return matched
		})
	}
	if !slices.ContainsFunc(p.Manifest.Arrays, func(a *Array) bool { return out(a.Path) }) {
		return p
	}
	m, taken := *p.Manifest, *p
	m.Arrays = slices.DeleteFunc(slices.Clone(m.Arrays), func(a *Array) bool { return out(a.Path) })
	taken.Manifest = &m
	return &taken
}

// Close closes the stores of the files.
func (c *Collector) Close() error { return c.files.opened.close() }

// Keep makes the collector store its scans in the folder of a manifest, and use those
// that an interrupted collection has left there: a file that has not changed since is
// not scanned again. A change shows by the size of the file and by its time or, in an
// object store, by its version. Files without a known time or version, Zarr nodes and
// manifests are always read again. Scans are stored every few seconds. Call
// [Collector.Forget] after the manifest is stored.
//
// A file is scanned again if its stored scan cannot be read.
func (c *Collector) Keep(ctx context.Context, s store.Store, path store.Path) error {
	k := &scans{into: s, path: path, reading: newGate(), recent: cache[string, [][]byte]{most: recentScans, each: 1}, known: map[string]scanPlace{}, asked: map[string]bool{}, since: time.Now(), every: cmp.Or(c.keepAfter, keepEvery)}
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
	c.files.scans = k
	return nil
}

// Forget deletes the scans that the collector has stored ([Collector.Keep]), after the
// manifest is stored. Scans of other collections stay, unless the manifest has all of
// their files.
func (c *Collector) Forget(ctx context.Context) error {
	if c.files.scans == nil {
		return nil
	}
	k := c.files.scans
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
	if c.files.scans == nil {
		return 0
	}
	k := c.files.scans
	k.mu.Lock()
	defer k.mu.Unlock()
	for location := range k.known {
		if k.asked[location] {
			n++
		}
	}
	return n
}
