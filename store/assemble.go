// SPDX-License-Identifier: Apache-2.0

package store

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"

	"varve.dev/zarr/internal/checked"
)

// Part is a part of the value that [Assemble] builds. It is the bytes of Data or, if Data
// is nil, the N bytes from offset Off on of the value at Key.
type Part struct {
	Data []byte
	Key  Key
	// Version is the version that the value at Key must have. A zero Version permits any,
	// but all parts of one value are from one version.
	Version Version
	Off, N  int64
}

// Within returns an error that wraps [io.ErrUnexpectedEOF] if the part takes bytes that a
// value of size bytes does not have. Drivers call it once they know the size.
func (p Part) Within(size int64) error {
	if p.Data == nil && (p.Off < 0 || p.N < 0 || p.Off > size || p.N > size-p.Off) {
		return fmt.Errorf("store: a part takes %s of %s, which has %d bytes: %w", Span(p.Off, p.N), p.Key, size, io.ErrUnexpectedEOF)
	}
	return nil
}

// Continues reports whether p begins where q ends in the same version of the same value,
// so that one copy can make both.
func (p Part) Continues(q Part) bool {
	return p.Data == nil && q.Data == nil && p.Key == q.Key && p.Version == q.Version && p.Off == q.Off+q.N
}

// PartsOf returns the parts that the fragments of a [Splice] stand for. So a driver can
// splice with the code that assembles.
func PartsOf(key Key, from Version, fragments []Fragment) []Part {
	parts := make([]Part, len(fragments))
	for i, f := range fragments {
		if parts[i].Data = f.Data; f.Data == nil {
			parts[i] = Part{Key: key, Version: from, Off: f.Off, N: f.N}
		}
	}
	return parts
}

// AssembledSize returns the number of bytes that parts make. If a part has a negative
// bound, the error is [io.ErrUnexpectedEOF]. If the sum overflows, it is [ErrTooLarge].
// Parts may take the same bytes several times, so a few numbers can request a value of
// any length: a caller that does not trust its numbers has to limit the sum.
func AssembledSize(parts []Part) (n int64, err error) {
	for i, p := range parts {
		size := p.N
		if p.Data != nil {
			size = int64(len(p.Data))
		}
		if err := p.Within(math.MaxInt64); err != nil {
			return 0, err
		}
		var ok bool
		if n, ok = checked.Add(n, size); !ok {
			return 0, fmt.Errorf("%w: the parts up to %d", ErrTooLarge, i)
		}
	}
	return n, nil
}

// Assembler builds a value from ranges of other values of the same store and new bytes,
// without moving the old bytes through the program. There may be thousands of parts from
// thousands of values.
//
// An object store does so on the server. S3 has UploadPartCopy: each part of a multipart
// upload is a range of another object, on the condition x-amz-copy-source-if-match, and
// CompleteMultipartUpload makes the value visible in one step. All parts but the last
// need 5 MiB, and there are at most 10,000. So a driver joins adjacent parts, and reads
// and uploads the shorter ones. GCS has compose: up to 32 whole objects of expected
// generations, and composed objects again. It takes no ranges, so a driver first writes
// those that are not whole objects to temporary ones.
type Assembler interface {
	// Assemble stores the parts, first to last, as the value at key, and returns the new
	// version. It replaces the value in one step, as Put does. key may be a source.
	//
	// Assemble returns ErrConflict if a source is not of the version of its part, or
	// changes while it is copied; [fs.ErrNotExist] if there is no value at the key of a
	// part that permits any version; the error of [Part.Within] if a source is shorter
	// than its part; and that of [AssembledSize]. Then nothing has changed. After any
	// other error, key has its old value or the new one. A source may be replaced once
	// its bytes are copied, so the parts need not be of one moment. The driver does not
	// keep the bytes of the parts.
	Assemble(ctx context.Context, key Key, parts []Part, d Durability) (Version, error)
}

// AssemblingBatch is a [Batch] that can also assemble. The value becomes visible and
// durable as a Put of the batch does.
type AssemblingBatch interface {
	Batch
	// Assemble is that of [Assembler].
	Assemble(ctx context.Context, key Key, parts []Part) error
}

// Assemble stores parts as the value at key; see [Assembler]. If s is not an Assembler,
// Assemble reads the parts into memory and writes the value. Then the error for parts of
// more than limit bytes in total is [ErrTooLarge]. A limit of 0 means no limit. If s has
// no versions, Assemble tells those of one value apart by size alone.
func Assemble(ctx context.Context, s Store, key Key, parts []Part, limit int64, d Durability) (Version, error) {
	if a, ok := As[Assembler](s); ok {
		return a.Assemble(ctx, key, parts, d)
	}
	if _, ok := As[Writer](s); !ok {
		return Version{}, unsupported(s, "write")
	}
	value, err := gather(ctx, s, parts, limit, nil)
	if err != nil {
		return Version{}, err
	}
	return Put(ctx, s, key, value, d)
}

// BatchAssemble assembles a value as part of b; see [Assembler]. If b is not an
// [AssemblingBatch], the error is [ErrUnsupported]. A batch made by [NewBatch] always is
// one. If neither it nor its store has the power, it reads the parts into memory.
func BatchAssemble(ctx context.Context, b Batch, key Key, parts []Part) error {
	a, ok := b.(AssemblingBatch)
	if !ok {
		return cannot(b, "batch", "assemble")
	}
	return a.Assemble(ctx, key, parts)
}

// gather returns the bytes of parts. If they are more than limit, and limit is not 0, the
// error is [ErrTooLarge]. check, unless nil, is called with the version of each source
// before its bytes are used.
func gather(ctx context.Context, s Store, parts []Part, limit int64, check func(Info) error) ([]byte, error) {
	n, err := AssembledSize(parts) // else no sum below overflows
	if err == nil && (n > math.MaxInt || limit > 0 && n > limit) {
		err = fmt.Errorf("%w: %d bytes of %d parts", ErrTooLarge, n, len(parts))
	}
	if err != nil {
		return nil, err
	}
	g := &collector{s: s, parts: parts, most: mostWindow, check: check, known: map[Key]Info{}}
	defer g.leave()
	var value []byte
	for i, p := range parts {
		if p.Data != nil {
			value = append(value, p.Data...)
			continue
		}
		if value, err = g.take(ctx, i, value); err != nil {
			return nil, err
		}
		// Only now is it known that n is no invented number.
		if limit > 0 || check != nil {
			value = slices.Grow(value, int(n)-len(value))
		}
	}
	return value, nil
}

// collector reads the sources of parts, one at a time.
type collector struct {
	s     Store
	parts []Part
	most  int64 // bytes of a window
	check func(Info) error
	known map[Key]Info // versions of the sources so far

	key    Key     // of the present source
	p      *Pinned // nil before the first source
	off    int64   // offset of window in the source
	window []byte  // bytes of several parts
}

const (
	// gap is the largest number of bytes between two parts that are read together. One
	// longer read costs a remote store less than a second request.
	gap = 1 << 20
	// mostWindow bounds the bytes of parts that are read together, and of the gaps.
	mostWindow = 64 << 20
)

// take appends part i to value. It reads parts that are close to each other together.
func (g *collector) take(ctx context.Context, i int, value []byte) ([]byte, error) {
	p := g.parts[i]
	g.enter(p.Key)
	if info, seen := g.known[p.Key]; seen {
		if err := g.fits(p, info); err != nil {
			return nil, err
		}
		at := p.Off - g.off
		switch {
		case p.N == 0:
			return value, nil
		case at >= 0 && at+p.N <= int64(len(g.window)):
			return append(value, g.window[at:at+p.N]...), nil
		}
	}
	end := reach(g.parts[i:], g.most)
	if end == p.Off+p.N {
		return g.read(ctx, p, p.N, value)
	}
	window, err := g.read(ctx, p, end-p.Off, g.window[:0])
	if err != nil {
		return nil, err
	}
	g.off, g.window = p.Off, window
	return append(value, window[:p.N]...), nil
}

// reach returns the end of the range to read for the first part and those of the same
// value that follow and are close to it. The range has at most most bytes, unless the
// first part is longer.
func reach(parts []Part, most int64) int64 {
	first := parts[0]
	end := first.Off + first.N
	for _, p := range parts[1:] {
		if p.Data != nil {
			continue
		}
		// A part that is too long for the window is read into the value itself.
		if p.Key != first.Key || p.Off < end || p.Off-end > gap || p.Off+p.N-first.Off > most {
			break
		}
		end = p.Off + p.N
	}
	return end
}

// enter makes key the present source.
func (g *collector) enter(key Key) {
	if g.p != nil && g.key == key {
		return
	}
	g.leave()
	g.key, g.p, g.off, g.window = key, Pin(g.s, key, g.known[key]), 0, g.window[:0]
}

// leave closes the present source.
func (g *collector) leave() {
	if g.p != nil {
		_ = g.p.Close() // nothing was written
	}
}

// fits returns an error if a source is not of the version of a part, or too short.
func (g *collector) fits(p Part, info Info) error {
	if !p.Version.IsZero() && p.Version != info.Version {
		return replaced(p.Key)
	}
	return p.Within(info.Size)
}

// read appends n bytes of the source of p to dst, from the offset of p on. The first read
// of a source checks its version.
func (g *collector) read(ctx context.Context, p Part, n int64, dst []byte) ([]byte, error) {
	_, seen := g.known[p.Key]
	out, info, err := g.p.Read(ctx, Request{Range: Span(p.Off, n)}, dst)
	// A concurrent writer may have shortened or deleted the value.
	if err != nil && !seen {
		return nil, g.judge(ctx, p, err)
	}
	if err != nil || seen {
		return out, err
	}
	if err = g.fits(p, info); err == nil && g.check != nil {
		err = g.check(info)
	}
	if err != nil {
		return nil, err
	}
	g.known[p.Key] = info
	return out, nil
}

// judge returns [ErrConflict] if the first read failed because a concurrent writer
// replaced or deleted the version. Otherwise it returns err.
func (g *collector) judge(ctx context.Context, p Part, err error) error {
	if !p.Version.IsZero() && errors.Is(err, io.ErrUnexpectedEOF) {
		info, failed := Stat(ctx, g.s, p.Key)
		if now := isFrom(p.Key, p.Version, info, failed); errors.Is(now, ErrConflict) {
			return now
		}
	}
	return isFrom(p.Key, p.Version, Info{Version: p.Version}, err)
}

// splice returns the new value: fragments, applied to version from of the value at key.
func splice(ctx context.Context, s Store, key Key, from Version, fragments []Fragment) ([]byte, error) {
	if from.IsZero() { // a part would permit any version
		return nil, replaced(key)
	}
	return gather(ctx, s, PartsOf(key, from, fragments), 0, func(info Info) error {
		_, err := SplicedSize(info.Size, fragments)
		return err
	})
}

// Gatherer builds a value from ranges of values of another store and new bytes, without
// holding the value in memory: a value may be a shard of many gigabytes.
//
// A driver that uploads or writes a value piece by piece, and publishes it whole at the
// end, needs nothing but [WriteParts]. It may do better for stores that it knows. A file
// store lets the kernel copy ranges of files. An object store may use UploadPartCopy
// between two buckets. It never makes the two values share bytes that another program
// could change in place, as a hard link would.
type Gatherer interface {
	// Gather is [Assembler.Assemble] with sources that are values of the store from. If
	// this store cannot gather from that one, the error is ErrUnsupported, and nothing
	// has changed.
	Gather(ctx context.Context, key Key, from Store, parts []Part, d Durability) (Version, error)
}

// GatheringBatch is a [Batch] that can also gather. The value becomes visible and durable
// as a Put of the batch does.
type GatheringBatch interface {
	Batch
	// Gather is that of [Gatherer].
	Gather(ctx context.Context, key Key, from Store, parts []Part) error
}

// Gather stores parts of the store from as the value at key of s; see [Gatherer]. If s is
// not a Gatherer, or cannot gather from that store, the error is [ErrUnsupported]: then
// collect the bytes with [WriteParts], and [Put] them.
func Gather(ctx context.Context, s Store, key Key, from Store, parts []Part, d Durability) (Version, error) {
	g, ok := As[Gatherer](s)
	if !ok {
		return Version{}, unsupported(s, "gather")
	}
	return g.Gather(ctx, key, from, parts, d)
}

// BatchGather gathers a value as part of b; see [Gather]. If b is not a [GatheringBatch],
// the error is [ErrUnsupported]. A batch made by [NewBatch] gathers if its store does.
func BatchGather(ctx context.Context, b Batch, key Key, from Store, parts []Part) error {
	g, ok := b.(GatheringBatch)
	if !ok {
		return cannot(b, "batch", "gather")
	}
	return g.Gather(ctx, key, from, parts)
}

const (
	// pieceSize is the number of bytes that WriteParts reads and writes at once.
	pieceSize = 4 << 20
	// PartsMemory is the most bytes that [WriteParts] holds.
	PartsMemory = 2 * pieceSize
)

// WriteParts writes the bytes of parts of the store from to w, first to last. It holds at
// most [PartsMemory] bytes, and reads parts that are close to each other together. The
// errors are those of [Assembler], and those of w. Some bytes may have been written by
// then, so drop what w has after any error.
func WriteParts(ctx context.Context, w io.Writer, from Store, parts []Part) error {
	if _, err := AssembledSize(parts); err != nil {
		return err
	}
	pieces := piecesOf(parts)
	c := &collector{s: from, parts: pieces, most: pieceSize, known: map[Key]Info{}}
	defer c.leave()
	var held []byte // that is not written yet
	flush := func() error {
		_, err := w.Write(held)
		held = held[:0]
		return err
	}
	for i, p := range pieces {
		n := p.N
		if p.Data != nil {
			n = int64(len(p.Data))
		}
		if n > pieceSize-int64(len(held)) {
			if err := flush(); err != nil {
				return err
			}
		}
		if p.Data != nil && n > pieceSize { // it is held already
			if _, err := w.Write(p.Data); err != nil {
				return err
			}
			continue
		}
		if p.Data != nil {
			held = append(held, p.Data...)
			continue
		}
		if int64(cap(held)-len(held)) < n { // never more than a piece
			held = slices.Grow(held, int(min(max(2*n, 64<<10), pieceSize-int64(len(held)))))
		}
		var err error
		if held, err = c.take(ctx, i, held); err != nil {
			return err
		}
	}
	return flush()
}

// piecesOf returns parts with those that are longer than a piece cut into pieces.
func piecesOf(parts []Part) []Part {
	long := func(p Part) bool { return p.Data == nil && p.N > pieceSize }
	if !slices.ContainsFunc(parts, long) {
		return parts
	}
	var pieces []Part
	for _, p := range parts {
		for ; long(p); p.Off, p.N = p.Off+pieceSize, p.N-pieceSize {
			piece := p
			piece.N = pieceSize
			pieces = append(pieces, piece)
		}
		pieces = append(pieces, p)
	}
	return pieces
}

// Fragment is a part of the value that [Splice] builds. It is the bytes of Data or, if
// Data is nil, the N bytes from offset Off on of the version that is replaced.
type Fragment struct {
	Data   []byte
	Off, N int64
}

// Splicer builds a value from new bytes and parts of its present version, without moving
// the old bytes through the program.
type Splicer interface {
	// Splice replaces the value at key by the fragments, first to last, and returns the
	// new version. It is atomic as PutIf is.
	//
	// Splice returns ErrConflict if the value is not of version from, or does not exist,
	// and the error of [SplicedSize] if that fails. Then nothing has changed. After any
	// other error the outcome is unknown. The driver does not keep the bytes of the
	// fragments.
	Splice(ctx context.Context, key Key, from Version, fragments []Fragment, d Durability) (Version, error)
}

// SplicingBatch is a [Batch] that can also splice. A splice is checked, visible and
// durable as the writes of [ConditionalBatch] are.
type SplicingBatch interface {
	Batch
	// Splice is that of [Splicer].
	Splice(ctx context.Context, key Key, from Version, fragments []Fragment) error
}

// SplicedSize returns the number of bytes that fragments make of a value of size bytes.
// Drivers call it once they know the size.
//
// If a fragment is not within the value, the error is [io.ErrUnexpectedEOF]. If the
// fragments have more old bytes in total than the value, the error is [ErrTooLarge].
// Without this limit, a few numbers could request a value of any length.
func SplicedSize(size int64, fragments []Fragment) (int64, error) {
	var old, fresh int64
	for i, p := range fragments {
		var ok bool
		switch {
		case p.Data != nil:
			if fresh, ok = checked.Add(fresh, int64(len(p.Data))); !ok {
				return 0, fmt.Errorf("%w: new bytes up to fragment %d", ErrTooLarge, i)
			}
		case p.Off < 0 || p.N < 0 || p.Off > size || p.N > size-p.Off:
			return 0, fmt.Errorf("store: fragment %d takes %s of a value of %d bytes: %w", i, Span(p.Off, p.N), size, io.ErrUnexpectedEOF)
		default:
			if old, ok = checked.Add(old, p.N); !ok || old > size {
				return 0, fmt.Errorf("%w: the fragments up to %d take bytes twice of a value of %d bytes", ErrTooLarge, i, size)
			}
		}
	}
	n, ok := checked.Add(old, fresh)
	if !ok {
		return 0, fmt.Errorf("%w: %d old and %d new bytes", ErrTooLarge, old, fresh)
	}
	return n, nil
}

// Splice replaces the value at key, which must be of version from, by the fragments; see
// [Splicer]. If s is not a Splicer, Splice reads the old bytes into memory and writes the
// value with [PutIf]. If s cannot do that either, the error is [ErrUnsupported].
func Splice(ctx context.Context, s Store, key Key, from Version, fragments []Fragment, d Durability) (Version, error) {
	if w, ok := As[Splicer](s); ok {
		return w.Splice(ctx, key, from, fragments, d)
	}
	if _, ok := As[ConditionalWriter](s); !ok {
		return Version{}, unsupported(s, "write on a condition")
	}
	value, err := splice(ctx, s, key, from, fragments)
	if err != nil {
		return Version{}, err
	}
	return PutIf(ctx, s, key, value, IfVersion(from), d)
}

// BatchSplice splices a value as part of b. If b is not a [SplicingBatch], the error is
// [ErrUnsupported]. A batch made by [NewBatch] splices if its store can write on a
// condition.
func BatchSplice(ctx context.Context, b Batch, key Key, from Version, fragments []Fragment) error {
	c, ok := b.(SplicingBatch)
	if !ok {
		return cannot(b, "batch", "splice")
	}
	return c.Splice(ctx, key, from, fragments)
}

// Patch overwrites bytes of a value: Data replaces the bytes from offset Off on.
type Patch struct {
	Off  int64
	Data []byte
}

// Patcher overwrites bytes within a value, in place. A store should implement it only if
// patches are atomic: readers, also after a crash, see all of them or none. A store with
// conditional writes can always [Splice] instead.
type Patcher interface {
	// Patch overwrites bytes of the value at key, in the order of patches, and returns
	// the new version. The value keeps its length. Readers see all patches or none.
	// Objects opened before may fail with ErrConflict from then on.
	//
	// Patch returns ErrConflict if the value is not of version from, or does not exist,
	// and the error of [CheckPatches] if that fails. Then nothing has changed. After any
	// other error the outcome is unknown. The driver does not keep the bytes of the
	// patches.
	Patch(ctx context.Context, key Key, from Version, patches []Patch, d Durability) (Version, error)
}

// PatchingBatch is a [Batch] that can also patch. A patch is checked, visible and durable
// as the writes of [ConditionalBatch] are.
type PatchingBatch interface {
	Batch
	// Patch is that of [Patcher].
	Patch(ctx context.Context, key Key, from Version, patches []Patch) error
}

// CheckPatches returns an error that wraps [io.ErrUnexpectedEOF] if a patch does not lie
// within a value of size bytes. Drivers call it once they know the size.
func CheckPatches(size int64, patches []Patch) error {
	for i, p := range patches {
		// Compare with a difference: a sum could overflow.
		if p.Off < 0 || p.Off > size || int64(len(p.Data)) > size-p.Off {
			span := Span(p.Off, int64(len(p.Data)))
			return fmt.Errorf("store: patch %d is %s of a value of %d bytes: %w", i, span, size, io.ErrUnexpectedEOF)
		}
	}
	return nil
}

// PatchValue overwrites bytes of the value at key, which must be of version from; see
// [Patcher]. If s is not a Patcher, the error is [ErrUnsupported]; use [Splice] instead.
func PatchValue(ctx context.Context, s Store, key Key, from Version, patches []Patch, d Durability) (Version, error) {
	p, ok := As[Patcher](s)
	if !ok {
		return Version{}, unsupported(s, "patch")
	}
	return p.Patch(ctx, key, from, patches, d)
}

// BatchPatch patches a value as part of b. If b is not a [PatchingBatch], the error is
// [ErrUnsupported]. A batch made by [NewBatch] patches if its store is a [Patcher].
func BatchPatch(ctx context.Context, b Batch, key Key, from Version, patches []Patch) error {
	p, ok := b.(PatchingBatch)
	if !ok {
		return cannot(b, "batch", "patch")
	}
	return p.Patch(ctx, key, from, patches)
}
