// SPDX-License-Identifier: Apache-2.0

// Package checksums writes the SHA-256 of each stored value of a node, in the lines that
// sha256sum -c reads, and compares a node with such lines.
//
// The values are those below the node: documents, chunks, and whatever else is there.
// What Varve keeps for itself in directories named __varve is left out: locks, journals,
// records of rechunks.
//
// Several processes can read the values of one node: [WritePart] reads a share of them.
//
// Checksums prove that bytes are what they were, whoever changed them, if the list comes
// from a trusted place: keep it outside of the node. They change with every rechunk,
// conversion or new compression. [zarr.Array.Digest] depends on the values alone.
package checksums

import (
	"bufio"
	"context"
	"crypto/md5"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"iter"
	"runtime"
	"strings"
	"time"

	"varve.dev/zarr"
	"varve.dev/zarr/internal/engine"
	"varve.dev/zarr/internal/own"
	"varve.dev/zarr/internal/quantity"
	"varve.dev/zarr/store"
)

// Options are the options of [Write], [WritePart] and [Compare]. A nil *Options is the
// zero value.
type Options struct {
	// Concurrency is the number of values that are read at the same time; 0 is a default
	// for the store.
	Concurrency int
	// DANDI makes [Write] compute the digest that the DANDI archive has for a Zarr asset.
	DANDI bool
	// Parts, if there are any, are all parts that [WritePart] has written, in any order.
	// [Write] and [Compare] take the sums from them. They read only values that no part
	// has, and those whose size, version or time says that they were written since. Parts
	// take about 100 bytes of memory for each value. They are read once.
	Parts []io.Reader
	// List is the name of the list in the errors of [Compare].
	List string
	// Progress, if not nil, is called with the number of bytes of each part that was
	// read, from several goroutines.
	Progress func(bytes int64)
}

// Report is the result of [Write].
type Report struct {
	Values, Bytes int64
	// DANDI is the digest of the DANDI archive: a digest of the names, the sizes and the
	// MD5 of all values, directory by directory, with their number and bytes
	// (dandi/zarr_checksum). It is "" without [Options.DANDI].
	DANDI string
}

// String says in one line how many values there are.
func (r Report) String() string {
	text := quantity.Of(r.Values, "value") + ", " + quantity.Bytes(r.Bytes)
	if r.DANDI != "" {
		text += "; digest of the DANDI archive: " + r.DANDI
	}
	return text
}

// Write writes one line for each stored value below a location: the SHA-256 in
// hexadecimal, two spaces, and the key relative to the location. The lines have the order
// in which the store lists keys. Run in the directory of the node, sha256sum -c verifies
// them.
//
// If the store cannot list, the error wraps [zarr.ErrUnsupported]. If one of
// [Options.Parts] is damaged, or missing, it wraps [zarr.ErrInvalidArgument], or
// [zarr.ErrLimit] if they are too long.
func Write(ctx context.Context, at *zarr.Location, w io.Writer, opt *Options) (Report, error) {
	r := newReader(at, opt)
	var report Report
	if err := r.readParts(); err != nil {
		return report, r.fail("checksums", err)
	}
	var tree *folder
	if r.DANDI {
		tree = newFolder()
	}
	out := bufio.NewWriter(w)
	for v, err := range r.values(ctx) {
		if err != nil {
			return report, r.fail("checksums", err)
		}
		report.Values++
		report.Bytes += v.size
		if tree != nil {
			tree.add(v.key, v.size, v.md5)
		}
		if _, err := out.WriteString(line(v.key, v.sha256)); err != nil {
			return report, r.fail("checksums", err)
		}
	}
	if tree != nil {
		report.DANDI = tree.digest().text()
	}
	return report, r.fail("checksums", out.Flush())
}

// reader reads all values below a location.
type reader struct {
	Options
	store   store.Store
	path    store.Path
	name    string
	illegal error  // why the path is illegal
	share   share  // of the values to read; the zero share is all
	known   *parts // nil if all values are read
}

func newReader(at *zarr.Location, opt *Options) *reader {
	r := &reader{store: at.Store(), name: at.String()}
	if opt != nil {
		r.Options = *opt
	}
	r.path, r.illegal = store.ParsePath(at.Path())
	return r
}

// readParts reads the parts of the options.
func (r *reader) readParts() (err error) {
	if len(r.Parts) > 0 {
		r.known, err = readParts(r.Parts, r.DANDI, mostListed)
	}
	return err
}

// fail returns err as a [*zarr.Error].
func (r *reader) fail(op string, err error) error {
	var e *zarr.Error
	if err == nil || errors.As(err, &e) {
		return err
	}
	return &zarr.Error{Op: op, Path: r.name, Axis: -1, Err: err}
}

// value is one value that was read.
type value struct {
	key    string // relative to the location
	size   int64
	sha256 [sha256.Size]byte
	md5    [md5.Size]byte // with DANDI
	stamp  stamp          // when it was read
}

// pending is a value that is being read.
type pending struct {
	value
	err  error
	done chan struct{}
}

// values yields the values of the share in the order of the listing, and reads several at
// a time. A value that is deleted meanwhile is left out.
func (r *reader) values(ctx context.Context) iter.Seq2[value, error] {
	return func(yield func(value, error) bool) {
		if r.illegal != nil {
			yield(value{}, r.illegal)
			return
		}
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		queue := make(chan *pending, engine.InFlight(r.store, r.Concurrency, runtime.GOMAXPROCS(0)))
		go r.enqueue(ctx, queue)
		defer func() { // leave no goroutine behind
			cancel()
			for p := range queue {
				<-p.done
			}
		}()
		for p := range queue {
			<-p.done
			if errors.Is(p.err, fs.ErrNotExist) {
				continue
			}
			if !yield(p.value, p.err) || p.err != nil {
				return
			}
		}
	}
}

// enqueue starts to read values while the queue has room.
func (r *reader) enqueue(ctx context.Context, queue chan<- *pending) {
	defer close(queue)
	add := func(p *pending) bool {
		select {
		case queue <- p:
			return true
		case <-ctx.Done():
			return false
		}
	}
	how := store.Deep
	if r.known != nil {
		how |= store.WithVersions
	}
	for e, err := range store.List(ctx, r.store, r.path, how) {
		if err == nil && (e.Dir || own.IsBelow(e.Name) || r.share.Of > 1 && !r.share.contains(hashOf(e.Name))) {
			continue
		}
		p := &pending{value: value{key: e.Name}, err: err, done: make(chan struct{})}
		if !add(p) {
			return
		}
		if err != nil {
			close(p.done)
			return
		}
		if r.known.take(e, &p.value) {
			close(p.done)
			continue
		}
		go func() {
			defer close(p.done)
			p.err = r.read(ctx, &p.value)
		}()
	}
}

const (
	// partBytes is the number of bytes that are read at a time.
	partBytes = 4 << 20
	// readTries bounds how often a value is read that changes meanwhile.
	readTries = 4
)

// read computes the checksums of a value.
func (r *reader) read(ctx context.Context, v *value) error {
	for range readTries {
		same, err := r.readOnce(ctx, v)
		if err != nil {
			return fmt.Errorf("%q: %w", v.key, err)
		}
		if same {
			return nil
		}
	}
	return fmt.Errorf("%q: %w each time it was read", v.key, store.ErrConflict)
}

// readOnce returns false if parts of the value were of different versions.
func (r *reader) readOnce(ctx context.Context, v *value) (same bool, err error) {
	key, began := r.path.MustKey(v.key), time.Now()
	sums := []hash.Hash{sha256.New()}
	if r.DANDI {
		sums = append(sums, md5.New())
	}
	data, first, err := r.store.Get(ctx, key, store.Request{Limit: partBytes}, nil)
	if errors.Is(err, store.ErrTooLarge) {
		if first, err = store.Stat(ctx, r.store, key); err == nil {
			same, err = r.parts(ctx, key, first, sums)
		}
		if err != nil || !same {
			return false, err
		}
	} else if err != nil {
		return false, err
	} else {
		r.add(sums, data)
		first.Size = int64(len(data))
	}
	v.size, v.stamp = first.Size, stampOf(first, began)
	sums[0].Sum(v.sha256[:0])
	if r.DANDI {
		sums[1].Sum(v.md5[:0])
	}
	return true, nil
}

// parts reads a long value.
func (r *reader) parts(ctx context.Context, key store.Key, first store.Info, sums []hash.Hash) (same bool, err error) {
	var room []byte
	for at := int64(0); at < first.Size; at += partBytes {
		data, now, err := r.store.Get(ctx, key, store.Request{Range: store.Span(at, min(partBytes, first.Size-at))}, room[:0])
		if errors.Is(err, io.ErrUnexpectedEOF) {
			return false, nil // it became shorter
		}
		if err != nil || !first.Same(now) {
			return false, err
		}
		r.add(sums, data)
		room = data
	}
	return true, nil
}

// add adds bytes to the sums.
func (r *reader) add(sums []hash.Hash, data []byte) {
	for _, s := range sums {
		s.Write(data) // never fails
	}
	if r.Progress != nil {
		r.Progress(int64(len(data)))
	}
}

// stamp tells two writes of one value apart.
type stamp struct {
	size     int64
	version  uint64 // hash of the version; 0 if the store has none
	modified int64  // nanoseconds since 1970; 0 if unknown, or unsettled
}

// unsettled replaces the time of a value that was written just before it was read.
// Another write may have the same time.
const unsettled = -1

// settling is the age from which on the time of a value tells it apart. Some stores count
// whole seconds.
const settling = 2 * time.Second

// stampOf returns the stamp of a value that was read at a time or later.
func stampOf(i store.Info, began time.Time) stamp {
	s := stamp{size: i.Size, version: hashOfVersion(i.Version), modified: timeOf(i.Modified)}
	if s.modified != 0 && i.Modified.After(began.Add(-settling)) {
		s.modified = unsettled
	}
	return s
}

// holds reports whether a listing has the same write of the value, if the store
// can tell.
func (s stamp) holds(e store.Entry) bool {
	version, modified := hashOfVersion(e.Version), timeOf(e.Modified)
	comparable := version != 0 && s.version != 0
	switch {
	case e.Size != s.size:
		return false
	case comparable && version == s.version && !(e.Version.IsWeak() && s.modified == unsettled):
		return true
	// The version of a file has the number of a device, which differs from machine to
	// machine where the same disk is mounted. Its times do not.
	case comparable && e.FileTime.IsZero():
		return false
	case modified == 0 || s.modified == 0:
		return !comparable
	}
	return modified == s.modified
}

// hashOfVersion returns a hash of a version, and 0 for none.
func hashOfVersion(v store.Version) uint64 {
	if v.IsZero() {
		return 0
	}
	sum := sha256.Sum256([]byte(v.String()))
	return max(1, binary.BigEndian.Uint64(sum[:8]))
}

// timeOf returns the nanoseconds since 1970, and 0 for the zero time.
func timeOf(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return max(1, t.UnixNano())
}

// line returns a line as sha256sum writes it: it begins with a backslash if the name has
// escapes.
func line(key string, sum [sha256.Size]byte) string {
	mark, name := "", escapes.Replace(key)
	if name != key {
		mark = `\`
	}
	return fmt.Sprintf("%s%x  %s\n", mark, sum, name)
}

// escapes makes the escapes of a name, and unescapes undoes them.
var (
	escapes   = strings.NewReplacer("\\", `\\`, "\n", `\n`, "\r", `\r`)
	unescapes = strings.NewReplacer(`\\`, "\\", `\n`, "\n", `\r`, "\r")
)

// longestLine bounds a line, in bytes. No store has keys as long as half of it.
const longestLine = 256 << 10

// parse returns the key and the sum of a line, without the newline.
func parse(text string) (key string, sum [sha256.Size]byte, err error) {
	text = strings.TrimSuffix(text, "\r")
	text, escaped := strings.CutPrefix(text, `\`)
	const width = 2 * sha256.Size
	// The byte after the space is a space, or an asterisk for binary mode.
	if len(text) < width+3 || text[width] != ' ' || text[width+1] != ' ' && text[width+1] != '*' {
		return "", sum, errLine
	}
	if _, err := hex.Decode(sum[:], []byte(text[:width])); err != nil {
		return "", sum, errLine
	}
	key = text[width+2:]
	if escaped {
		key = unescapes.Replace(key)
	}
	if key = strings.TrimPrefix(key, "./"); key == "" {
		return "", sum, errLine
	}
	return key, sum, nil
}

var errLine = fmt.Errorf("%w: not a line of sha256sum: 64 hexadecimal digits, two spaces, a name", zarr.ErrInvalidArgument)

// read reads a list. It has at most most lines.
func read(r io.Reader, most int) (map[string][sha256.Size]byte, error) {
	sums := map[string][sha256.Size]byte{}
	s := bufio.NewScanner(r)
	s.Buffer(nil, longestLine)
	for n := 1; s.Scan(); n++ {
		if s.Text() == "" {
			continue
		}
		key, sum, err := parse(s.Text())
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", n, err)
		}
		if own.IsBelow(key) {
			continue // sha256sum lists these, too
		}
		if was, twice := sums[key]; twice && was != sum {
			return nil, fmt.Errorf("line %d: %w: %q is listed twice, with two sums", n, zarr.ErrInvalidArgument, key)
		}
		if len(sums) == most {
			return nil, fmt.Errorf("%w: a list of more than %s", zarr.ErrLimit, quantity.Count(most, "values"))
		}
		sums[key] = sum
	}
	return sums, s.Err()
}
