// SPDX-License-Identifier: Apache-2.0

package convert

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"slices"
	"time"

	"varve.dev/zarr"
	"varve.dev/zarr/codec"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/checked"
	"varve.dev/zarr/internal/codecs/numcodecs"
	"varve.dev/zarr/internal/codecs/sharding"
	"varve.dev/zarr/internal/coding"
	"varve.dev/zarr/internal/copying"
	"varve.dev/zarr/internal/own"
	"varve.dev/zarr/internal/parallel"
	"varve.dev/zarr/internal/strictjson"
	"varve.dev/zarr/metadata"
	"varve.dev/zarr/selection"
	"varve.dev/zarr/store"
)

// recode makes the document of an array whose chunks are encoded again. It tries the
// codecs that the array has, then those of its inner chunks, then the default.
func (c *conversion) recode(ctx context.Context, m *member) error {
	doc, ok := m.node.(*metadata.Array)
	if !ok {
		return m.reason
	}
	if m.mask != nil {
		doc = m.mask.Array
	}
	spec, err := zarr.SpecOf(doc)
	if err != nil {
		return err
	}
	if m.mask != nil && m.mask.Null {
		spec.FillValue = zarr.FillJSON("null")
	}
	spec.Format = c.pair.Format
	if spec.KeyEncoding = metadata.DefaultSlash; c.pair.Format == 2 {
		spec.KeyEncoding = metadata.V2Slash
	}
	shape, inner := withinShards(doc)
	usual, _ := numcodecs.Reordered(oneOrder(spec.Codecs), spec.Type.Size())
	chains := [][]metadata.Extension{usual, coding.WithChecksums(inner, false), nil}
	if c.pair.Format == 2 && (shape != nil || spec.Grid.Name() != "regular") {
		// Format 2 cannot describe several lengths. Inner chunks are the natural
		// replacement for shards.
		spec.Grid, spec.Chunks = nil, shape // nil lets CreateArray choose
	}
	// Creating an array in a store that discards writes shows whether the format
	// accepts the chain.
	for _, chain := range chains {
		spec.Codecs = chain // nil is the default
		h := zarr.At(new(discard), "")
		a, createErr := h.At("").CreateArray(ctx, spec, &zarr.CreateOptions{Options: c.pair.Options.Options, Format: c.pair.Format})
		if createErr == nil {
			m.result = a.Metadata()
			return nil
		}
		err = createErr
	}
	if e := (*zarr.Error)(nil); errors.As(err, &e) {
		err = e.Err // drop the path of the trial array
	}
	return err
}

// errOrder is the reason to encode an array of other programs again.
var errOrder = errors.New("a checksum before shuffle makes chunks longer than whole elements, which only HDF5 shuffles: the checksum comes last")

// isMisordered reports whether the codecs of an array are in an order in which numcodecs
// neither encodes nor decodes chunks.
func (m *member) isMisordered() bool {
	doc, ok := m.node.(*metadata.Array)
	if !ok {
		return false
	}
	spec, err := zarr.SpecOf(doc)
	if err != nil {
		return false
	}
	_, is := numcodecs.Reordered(spec.Codecs, spec.Type.Size())
	return is
}

// oneOrder replaces a codec with one byte order for each field by one that is
// little-endian throughout.
func oneOrder(chain []metadata.Extension) []metadata.Extension {
	chain = slices.Clone(chain)
	for i, c := range chain {
		if c.Name == own.BytesByField {
			chain[i] = codec.Bytes("little")
		}
	}
	return chain
}

// withinShards returns the inner chunk shape and inner codecs of a sharded array. It
// returns none if the chunks are not shards or are cut unevenly.
func withinShards(doc *metadata.Array) (cuts []grid.Cut, codecs []metadata.Extension) {
	for _, e := range doc.Codecs {
		if e.Name != sharding.Name {
			continue
		}
		v, err := strictjson.Parse(e.Configuration, strictjson.Limits{})
		if err != nil {
			return nil, nil
		}
		shape, _ := v.Member("chunk_shape")
		for _, length := range shape.Elements() {
			n, err := length.Int64()
			if err != nil || n < 1 {
				return nil, nil
			}
			cuts = append(cuts, grid.Every(n))
		}
		list, _ := v.Member("codecs")
		for _, c := range list.Elements() {
			e, err := metadata.ParseExtension(c.Raw(), metadata.Limits{})
			if err != nil {
				return cuts, nil
			}
			codecs = append(codecs, metadata.Extension{Name: e.Name, Configuration: e.Configuration})
		}
		return cuts, codecs
	}
	return nil, nil
}

// discard is an empty store that accepts and drops writes.
type discard struct{}

func (*discard) Get(_ context.Context, key store.Key, _ store.Request, _ []byte) ([]byte, store.Info, error) {
	return nil, store.Info{}, fmt.Errorf("%s: %w", key, fs.ErrNotExist)
}

// Can implements [store.Writer].
func (*discard) Can(op store.Op) bool { return op == store.OpPut || op == store.OpPutIf }

// Write implements [store.Writer].
func (d *discard) Write(_ context.Context, c store.Change, _ store.Durability) (made store.Written, err error) {
	if !d.Can(c.Op) {
		err = store.ErrUnsupported
	}
	return made, err
}

// encode writes the elements of an array under its new document.
func (c *conversion) encode(ctx context.Context, m *member) error {
	to, err := c.open(ctx, m, false)
	if err != nil {
		return err
	}
	if m.derived != nil {
		return m.derived.Write(ctx, to)
	}
	from, err := c.pair.Source.Location.Root().At(m.path.String()).OpenArray(ctx, c.pair.Reading())
	if err != nil {
		return err
	}
	return copyElements(ctx, to, from)
}

// recodedBytes bounds the elements that are in memory while an array is encoded again, in
// bytes.
const recodedBytes = 64 << 20

// copyElements copies the elements of one array to another of the same shape and type.
func copyElements(ctx context.Context, to, from *zarr.Array) error {
	if from.Type().Variable() {
		slabs, err := to.Slabs(nil, recodedBytes/16) // elements are longer than their references
		if err != nil {
			return err
		}
		for slab := range slabs {
			b, err := zarr.Read[[]byte](ctx, from, slab)
			if err == nil {
				err = zarr.Write(ctx, to, slab, b.Data)
			}
			if err != nil {
				return err
			}
		}
		return nil
	}
	slabs, err := to.Slabs(nil, recodedBytes)
	if err != nil {
		return err
	}
	var data []byte
	for slab := range slabs {
		n, err := elementsIn(to, slab)
		if err != nil {
			return err
		}
		data = slices.Grow(data[:0], n)[:n]
		if err := from.ReadBytes(ctx, slab, data); err != nil {
			return err
		}
		if err := to.WriteBytes(ctx, slab, data); err != nil {
			return err
		}
	}
	return nil
}

// elementsIn returns the size of the selected elements in bytes.
func elementsIn(a *zarr.Array, sel selection.Selection) (int, error) {
	r, err := a.Select(sel)
	if err != nil {
		return 0, err
	}
	return int(r.Len()) * a.Type().Size(), nil // at most recodedBytes, or one element
}

// recoding encodes the chunks of an array again, one by one: a chunk that is there is
// complete, so its time tells whether it is up to date.
type recoding struct {
	conv             *conversion
	m                *member
	place            store.Path
	source           *zarr.Array
	result           *zarr.Array
	oldKeys, newKeys metadata.KeyEncoding
	storesFill       bool // chunks with nothing but the former fill value are stored
}

// evidence is what the listings say about one chunk of the result.
type evidence struct {
	latest int64 // the last write of a chunk that it is made from; math.MinInt64 if there is none
	stored int64 // how many such chunks are stored
	made   int64 // its own last write, or 0
}

// evidenceAtOnce bounds the chunks whose evidence is in memory.
const evidenceAtOnce = 1 << 20

// recodeStale encodes the chunks of an array again that are missing or not up to date.
func (c *conversion) recodeStale(ctx context.Context, m *member) error {
	r := &recoding{conv: c, m: m, storesFill: c.pair.StoreFill || m.mask != nil && m.mask.Fills}
	var err error
	if r.place, err = c.pair.Target.Path.Join(m.Path); err != nil {
		return err
	}
	if r.result, err = c.open(ctx, m, true); err != nil {
		return err
	}
	if r.source, err = c.pair.Source.Location.Root().At(m.path.String()).OpenArray(ctx, c.pair.Reading()); err != nil {
		return err
	}
	if r.oldKeys, err = metadata.ParseKeyEncoding(r.source.Metadata().ChunkKeyEncoding); err != nil {
		return err
	}
	if r.newKeys, err = metadata.ParseKeyEncoding(r.result.Metadata().ChunkKeyEncoding); err != nil {
		return err
	}
	total, ok := r.result.Grid().NumChunks()
	if !ok {
		return fmt.Errorf("%w: the number of chunks", zarr.ErrOverflow)
	}
	for first := int64(0); first < total; first += evidenceAtOnce {
		if err := r.window(ctx, first, min(evidenceAtOnce, total-first)); err != nil {
			return err
		}
	}
	return nil
}

// window encodes n chunks of the result, in C order from the first one on.
func (r *recoding) window(ctx context.Context, first, n int64) error {
	all, err := r.listed(ctx, first, n)
	if err != nil {
		return err
	}
	g, within := parallel.New(ctx)
	g.SetLimit(r.atOnce())
	index, chunks := make([]int64, r.result.Rank()), r.result.Grid().Chunks()
	var name []byte
	for i := range all {
		indexOf(chunks, first+int64(i), index)
		name = r.newKeys.AppendKey(name[:0], index)
		if !r.conv.inShare(r.m, string(name)) {
			continue // of another part
		}
		chunk, _ := r.result.Grid().Chunk(index)
		switch e := all[i]; {
		case e.isCurrent(r.sources(chunk)) && !r.isCut(chunk):
			r.conv.keep()
		case e.stored == 0 && e.made == 0 && !r.storesFill:
			// It is missing, as it should be.
		case r.conv.pair.DryRun:
			if err := r.conv.count.value(0, nil); err != nil {
				return g.Wait(err)
			}
		default:
			g.Go(func() error { return r.make(within, chunk, e) })
		}
		if within.Err() != nil {
			break
		}
	}
	return g.Wait(nil)
}

// isCurrent reports whether a chunk was made from all that the source stores, of n
// chunks. If the source stores only some, others may have been deleted since: times
// cannot tell, so the chunk is made again.
func (e *evidence) isCurrent(n int64) bool {
	return e.made != 0 && e.stored == n && e.latest < math.MaxInt64-int64(copying.Slack) && e.made > e.latest+int64(copying.Slack)
}

// isCut reports whether an array of another state ended elsewhere in a chunk. Elements
// that a source has beyond its extent then show without a write.
func (r *recoding) isCut(chunk *grid.Chunk) bool {
	for _, shape := range r.m.shapes {
		for i, start := range chunk.Start {
			stop := min(start+chunk.Encoded[i], shape[i])
			if stop > start && stop != start+chunk.Logical[i] {
				return true
			}
		}
	}
	return false
}

// atOnce returns the number of chunks that are made at the same time.
func (r *recoding) atOnce() int {
	size := int64(max(1, r.result.Type().Size()))
	for i := range r.result.Rank() {
		a := r.result.Grid().Axis(i)
		var ok bool
		if size, ok = checked.Mul(size, max(1, a.Longest(grid.Interval{Stop: a.Chunks()}))); !ok {
			return 1
		}
	}
	if r.result.Type().Variable() {
		size *= 16 // elements are longer than their references
	}
	return int(min(int64(copying.Workers(&r.conv.pair.Options.Options)), max(1, recodedBytes/size)))
}

// listed returns what the listings say about n chunks.
func (r *recoding) listed(ctx context.Context, first, n int64) ([]evidence, error) {
	all := make([]evidence, n)
	for i := range all {
		all[i].latest = math.MinInt64
	}
	var index []int64
	from, within := r.source.Grid(), grid.BoxOf(r.source.Grid().Chunks())
	for e, err := range store.List(ctx, r.conv.pair.Source.Store, r.m.path, store.Deep|store.WithVersions) {
		if err != nil {
			return nil, err
		}
		var ok bool
		if index, ok = r.oldKeys.ParseKey(e.Name, from.Rank(), index); !ok || !within.Contains(index) {
			continue
		}
		r.addSource(all, first, index, e.Modified)
	}
	// Chunks at the destination are of another copy, or of other documents.
	if r.conv.resumption.foreign || r.m.fresh {
		return all, nil
	}
	to, within := r.result.Grid(), grid.BoxOf(r.result.Grid().Chunks())
	for e, err := range store.List(ctx, r.conv.pair.Target.Store, r.place, store.Deep|store.WithVersions) {
		if err != nil {
			return nil, err
		}
		var ok bool
		if index, ok = r.newKeys.ParseKey(e.Name, to.Rank(), index); !ok || !within.Contains(index) {
			continue
		}
		if i := numberOf(to.Chunks(), index) - first; i >= 0 && i < n {
			all[i].made = math.MinInt64
			if !e.Modified.IsZero() {
				all[i].made = e.Modified.UnixNano()
			}
		}
	}
	return all, nil
}

// addSource adds a chunk of the source to the evidence of the chunks that it overlaps.
// The first of these has a number in C order.
func (r *recoding) addSource(all []evidence, first int64, index []int64, modified time.Time) {
	chunk, ok := r.source.Grid().Chunk(index)
	if !ok {
		return
	}
	to := r.result.Grid()
	for at := range overlapping(to, chunk).IndicesInto(make([]int64, to.Rank())) {
		if i := numberOf(to.Chunks(), at) - first; i >= 0 && i < int64(len(all)) {
			all[i].add(modified)
		}
	}
}

// add adds a chunk of the source.
func (e *evidence) add(modified time.Time) {
	written := int64(math.MaxInt64) // of unknown age: the result is never up to date
	if !modified.IsZero() {
		written = modified.UnixNano()
	}
	e.latest, e.stored = max(e.latest, written), e.stored+1
}

// sources returns how many chunks of the source overlap one of the result.
func (r *recoding) sources(chunk *grid.Chunk) int64 {
	n := int64(1)
	for _, i := range overlapping(r.source.Grid(), chunk) {
		n *= i.Stop - i.Start // at most the elements of the chunk
	}
	return n
}

// overlapping returns the chunks of a grid that a chunk of another one overlaps, of an
// array of the same shape.
func overlapping(g *grid.Grid, chunk *grid.Chunk) grid.Box {
	box := make(grid.Box, g.Rank())
	for i := range box {
		first, _, _ := g.Axis(i).Locate(chunk.Start[i])
		last, _, _ := g.Axis(i).Locate(chunk.Start[i] + chunk.Logical[i] - 1)
		box[i] = grid.Interval{Start: first, Stop: last + 1}
	}
	return box
}

// make makes a chunk. If that takes long, and the source has changed meanwhile, it does
// so again.
func (r *recoding) make(ctx context.Context, chunk *grid.Chunk, e evidence) error {
	for range copying.MaxAttempts {
		began := time.Now()
		if err := r.write(ctx, chunk); err != nil {
			return err
		}
		if time.Since(began) < copying.Slow {
			return r.conv.count.value(0, nil)
		}
		now, err := r.asked(ctx, chunk)
		if err != nil {
			return err
		}
		if now.latest == e.latest && now.stored == e.stored {
			return r.conv.count.value(0, nil)
		}
		e.latest, e.stored = now.latest, now.stored
	}
	return fmt.Errorf("%w: chunk %v of %q is overwritten faster than it is converted", zarr.ErrSourceChanged, chunk.Index, "/"+r.m.path.String())
}

// asked returns what the source says about the chunks that one is made from.
func (r *recoding) asked(ctx context.Context, chunk *grid.Chunk) (evidence, error) {
	e := evidence{latest: math.MinInt64}
	for index := range overlapping(r.source.Grid(), chunk).IndicesInto(make([]int64, r.source.Rank())) {
		info, err := store.Stat(ctx, r.conv.pair.Source.Store, r.m.path.MustKey(string(r.oldKeys.AppendKey(nil, index))))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return e, err
		}
		e.add(info.Modified)
	}
	return e, nil
}

// write encodes the elements of a chunk, all at once. If they are the fill value, the
// chunk is deleted.
func (r *recoding) write(ctx context.Context, chunk *grid.Chunk) error {
	box := make(selection.Box, len(chunk.Start))
	for i, start := range chunk.Start {
		box[i] = [2]int64{start, start + chunk.Logical[i]}
	}
	// Elements of variable length have no size in bytes that could be reserved.
	if r.result.Type().Variable() {
		b, err := zarr.Read[[]byte](ctx, r.source, box)
		if err != nil {
			return err
		}
		return zarr.Write(ctx, r.result, box, b.Data)
	}
	n, err := elementsIn(r.result, box)
	if err != nil {
		return err
	}
	data := make([]byte, n)
	if err := r.source.ReadBytes(ctx, box, data); err != nil {
		return err
	}
	return r.result.WriteBytes(ctx, box, data)
}

// indexOf sets index to the one with a number in C order.
func indexOf(chunks []int64, number int64, index []int64) {
	for i := len(chunks) - 1; i >= 0; i-- {
		index[i], number = number%chunks[i], number/chunks[i]
	}
}

// numberOf returns the number of an index in C order.
func numberOf(chunks, index []int64) (number int64) {
	for i, k := range index {
		number = number*chunks[i] + k
	}
	return number
}
