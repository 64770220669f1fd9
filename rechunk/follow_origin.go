// SPDX-License-Identifier: Apache-2.0

package rechunk

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"varve.dev/zarr"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/attributes"
	"varve.dev/zarr/internal/checked"
	"varve.dev/zarr/internal/coding"
	"varve.dev/zarr/internal/likeness"
	"varve.dev/zarr/internal/lineage"
	"varve.dev/zarr/internal/own"
	"varve.dev/zarr/internal/quantity"
	"varve.dev/zarr/internal/remedy"
	"varve.dev/zarr/internal/snapshot"
	"varve.dev/zarr/internal/staging"
	"varve.dev/zarr/internal/strided"
	"varve.dev/zarr/metadata"
	"varve.dev/zarr/store"
)

// followDir is the directory, below that of an array that follows another one, of the
// origins of its documents. The document names its origin, by an attribute in format 3
// and by its identity in format 2. So the write that publishes a document also publishes
// its origin, and none is ever overwritten by that of another document.
const followDir = own.Dir + "/follow/"

// origin is the state of the array that is followed of which a document was made.
type origin struct {
	head   originHead
	id     string        // names the origin
	chunks []originChunk // that were stored, in C order; those that have elements of the region
	grid   *grid.Grid    // of the array that is followed
	doc    *metadata.Array
	stored store.Info // of the stored origin
}

// originHead is what an origin says in JSON.
type originHead struct {
	// Document identifies the document of the array that follows; see documentIdentity.
	Document string `json:"document"`
	// Source is the name of the array that is followed, and of its store.
	Source string `json:"source"`
	// Array is the document of the array that is followed, without attributes.
	Array json.RawMessage `json:"array"`
	// Attributes are those of the array that is followed.
	Attributes json.RawMessage `json:"attributes,omitempty"`
	// Region is the part of it that is followed; see [Rechunking].
	Region grid.Box `json:"region,omitempty"`
	// Codecs identifies the codecs that the first request asked for, and Adapt is that of
	// the request; see [Rechunking].
	Codecs string `json:"codecs"`
	Adapt  bool   `json:"adapt,omitempty"`
}

// originChunk is a stored chunk of the array that is followed.
type originChunk struct {
	number  int64 // in C order
	version staging.Digest
	sum     [16]byte // of its elements, see comparison.ChunkSums
	summed  bool     // the sum is known
}

// newOrigin describes an array that is followed, given the document that is made of it.
func newOrigin(source string, from *snapshot.Array, chunks *staging.Table, doc *metadata.Array, l metadata.Limits) (*origin, error) {
	if _, ok := checked.Product(from.Grid.Chunks()...); !ok {
		return nil, fmt.Errorf("%w: %v chunks", grid.ErrOverflow, from.Grid.Chunks())
	}
	o := &origin{head: originHead{Source: source, Attributes: attributes.Compact(from.Doc.Attributes)}, grid: from.Grid, doc: from.Doc}
	var err error
	if o.head.Document, err = documentIdentity(doc, l); err != nil {
		return nil, err
	}
	if o.id, err = originID(doc, o.head.Document); err != nil {
		return nil, err
	}
	if o.head.Array, err = bareDocument(from.Doc, l); err != nil {
		return nil, err
	}
	for index := range chunks.All() {
		o.chunks = append(o.chunks, originChunk{number: strided.Number(o.grid, index), version: chunks.Digest(index)})
	}
	return o, nil
}

// followedArray is the value of the attribute [own.Follow].
type followedArray struct {
	Array  string `json:"array"`  // the array that is followed, and its store
	Origin string `json:"origin"` // the name of the origin
}

// withOrigin returns a document that names another origin.
func withOrigin(doc *metadata.Array, source string) (*metadata.Array, error) {
	// In format 2 the name of the origin is the identity of the document.
	if doc.Format() == 2 {
		return doc, nil
	}
	value, err := json.Marshal(followedArray{source, newID()})
	if err != nil {
		return nil, err
	}
	attributes, err := metadata.SetAttribute(doc.Attributes, own.Follow, value)
	if err != nil {
		return nil, err
	}
	return doc.WithAttributes(attributes)
}

// originID returns the name of the origin of a document with an identity.
func originID(doc *metadata.Array, identity string) (string, error) {
	if doc.Format() == 2 {
		return identity[:16], nil
	}
	var is followedArray
	value, found, err := metadata.Attribute(doc.Attributes, own.Follow)
	if err == nil && found {
		err = json.Unmarshal(value, &is)
	}
	if err != nil || !lineage.IsID(is.Origin) {
		return "", errUnfollowed("it has no valid attribute " + own.Follow)
	}
	return is.Origin, nil
}

// checkVersions returns an error if a store tells no versions of the chunks of the array
// that is followed.
func checkVersions(chunks *staging.Table) error {
	// Times in whole seconds do for files that are not written twice in one.
	if !chunks.Vague || chunks.Files {
		return nil
	}
	return fmt.Errorf("%w: the store tells no versions of chunks, so changes would not be noticed; copy the array, or leave out following", zarr.ErrUnsupported)
}

// checkFollowed returns an error if an array cannot be followed.
func checkFollowed(ctx context.Context, s *session) error {
	from, err := s.array.fresh(ctx)
	if err != nil {
		return err
	}
	if _, locks := store.As[store.Locker](s.hold.at.Store); from.Doc.Format() == 2 && !locks {
		return fmt.Errorf("%w: in a store without locks, an array that follows has format 3: convert the array first ("+remedy.Convert+")", zarr.ErrUnsupported)
	}
	chunks, err := staging.List(ctx, from)
	if err != nil {
		return err
	}
	return checkVersions(chunks)
}

// bareDocument returns a document without attributes.
func bareDocument(doc *metadata.Array, l metadata.Limits) ([]byte, error) {
	bare, err := doc.WithAttributes([]byte("{}"))
	if err != nil {
		return nil, err
	}
	raw, err := bare.Marshal(l)
	if err != nil {
		return nil, err
	}
	var compact bytes.Buffer
	err = json.Compact(&compact, raw)
	return compact.Bytes(), err
}

// documentIdentity identifies a document by all that says which elements are where,
// whatever its spelling. Attributes may change. In format 2 they have a document of their
// own, so that no other program writes the one of the array anew.
func documentIdentity(doc *metadata.Array, l metadata.Limits) (string, error) {
	if doc.Format() == 2 {
		return spelledIdentity(doc, l)
	}
	raw, err := likeness.Identity(doc)
	return shortHash(raw), err
}

// spelledIdentity identifies a document with its spelling. Earlier versions of this
// package have noted it in format 3, too.
func spelledIdentity(doc *metadata.Array, l metadata.Limits) (string, error) {
	raw, err := bareDocument(doc, l)
	return shortHash(raw), err
}

// describes reports whether o is the origin of a document.
func (o *origin) describes(doc *metadata.Array, l metadata.Limits) bool {
	for _, identify := range [...]func(*metadata.Array, metadata.Limits) (string, error){documentIdentity, spelledIdentity} {
		if is, err := identify(doc, l); err == nil && is == o.head.Document {
			return true
		}
	}
	return false
}

// find returns the chunk with a number, or nil.
func (o *origin) find(number int64) *originChunk {
	i, ok := slices.BinarySearchFunc(o.chunks, number, func(c originChunk, n int64) int { return cmp.Compare(c.number, n) })
	if !ok {
		return nil
	}
	return &o.chunks[i]
}

// index returns the index of the chunk with a number.
func (o *origin) index(number int64) []int64 {
	index := make([]int64, o.grid.Rank())
	for i := len(index) - 1; i >= 0; i-- {
		n := o.grid.Axis(i).Chunks()
		index[i], number = number%n, number/n
	}
	return index
}

// equal reports whether two origins of one document say the same.
func (o *origin) equal(p *origin) bool {
	return o.head.Document == p.head.Document && bytes.Equal(o.head.Array, p.head.Array) && bytes.Equal(o.head.Attributes, p.head.Attributes) && slices.Equal(o.chunks, p.chunks)
}

// originBytes is about what a chunk takes in memory.
const originBytes = 40

// checkSize returns an error if an origin takes more memory than there is for it.
func (o *origin) checkSize(memory int64) error {
	if most := max(memory, leastRecords); int64(len(o.chunks)) > most/originBytes {
		return fmt.Errorf("%w: the record of the chunks of the array that is followed takes more than %s ("+remedy.Memory+")", zarr.ErrLimit, quantity.Count(most, "bytes"))
	}
	return nil
}

// askedFor reports whether a later request asks for no codecs, or for those of the first.
// from is the array that is followed.
func (o *origin) askedFor(r Rechunking, from *snapshot.Array) (bool, error) {
	// Earlier versions of this package noted the codecs as they were written. Even
	// earlier, a zstd that did not say whether it has a checksum had none.
	for _, meaning := range []Rechunking{withSums(r, from), r, withChecksumSetting(r, false)} {
		codecs, err := codecsAsked(meaning)
		if err != nil || codecs == "" || codecs == o.head.Codecs {
			return err == nil, err
		}
	}
	return false, nil
}

// withSums returns a request in which every zstd says whether it stores checksums; see
// [Rechunking.codecs].
func withSums(r Rechunking, from *snapshot.Array) Rechunking {
	return withChecksumSetting(r, from.Document().Format() != 2)
}

// withChecksumSetting returns a request in which every zstd says whether it stores
// checksums: as sums, where it did not say.
func withChecksumSetting(r Rechunking, sums bool) Rechunking {
	r.Codecs, r.Compressor = coding.WithChecksums(r.Codecs, sums), coding.WithChecksums(r.Compressor, sums)
	return r
}

// codecsAsked identifies the codecs that a request asks for. It is "" if it asks for
// none.
func codecsAsked(r Rechunking) (string, error) {
	r = Rechunking{Inner: r.Inner, Unpack: r.Unpack, IndexAtStart: r.IndexAtStart, Codecs: r.Codecs, Compressor: r.Compressor, FillValue: r.FillValue}
	if r.Inner == nil && !r.Unpack && r.Codecs == nil && r.Compressor == nil && r.FillValue.JSON() == "" {
		return "", nil
	}
	return fingerprint(r)
}

// keepWithin forgets the chunks of an array that have no elements of a region.
func keepWithin(chunks *staging.Table, g *grid.Grid, region grid.Box) error {
	window, err := Rechunking{Region: region}.windowOf(g.Shape())
	if err != nil || window == nil {
		return err
	}
	touched, err := g.Touched(window)
	if err == nil {
		chunks.KeepWithin(touched)
	}
	return err
}

// originMagic begins an encoded origin. A line of JSON follows, and the chunks: the
// difference of the number to that of the chunk before, the digest of the version, and
// the sum, after a byte that says whether there is one.
const originMagic = "varve follow 1\n"

// errOrigin is the error of an origin that is damaged.
var errOrigin = errors.New("the record of the array that is followed is damaged")

func (o *origin) marshal() ([]byte, error) {
	head := bytes.NewBufferString(originMagic)
	e := json.NewEncoder(head) // which ends the line
	e.SetEscapeHTML(false)     // the document of the array stays as it is
	if err := e.Encode(o.head); err != nil {
		return nil, err
	}
	data, last := head.Bytes(), int64(0)
	for _, c := range o.chunks {
		data = binary.AppendUvarint(data, uint64(c.number-last))
		data = binary.LittleEndian.AppendUint64(data, uint64(c.version))
		if last = c.number; c.summed {
			data = append(append(data, 1), c.sum[:]...)
		} else {
			data = append(data, 0)
		}
	}
	return data, nil
}

// parseOrigin parses what marshal has encoded.
func parseOrigin(data []byte, l metadata.Limits, most int64) (*origin, error) {
	data, ok := bytes.CutPrefix(data, []byte(originMagic))
	head, data, found := bytes.Cut(data, []byte("\n"))
	o := new(origin)
	if !ok || !found || json.Unmarshal(head, &o.head) != nil {
		return nil, errOrigin
	}
	if attributes.Check(o.head.Attributes) != nil {
		return nil, errOrigin
	}
	var err error
	if o.doc, err = (lineage.Array{Limits: l}).Parse(o.head.Array); err != nil {
		return nil, errOrigin
	}
	if o.grid, err = lineage.GridOf(o.doc); err != nil {
		return nil, errOrigin
	}
	all, ok := o.grid.NumChunks()
	if !ok {
		return nil, errOrigin
	}
	for last := int64(0); len(data) > 0; {
		gap, n := binary.Uvarint(data)
		// Numbers increase and stay below that of all chunks, so index never overflows.
		if n <= 0 || gap >= uint64(all) || int64(gap) >= all-last || gap == 0 && len(o.chunks) > 0 {
			return nil, errOrigin
		}
		if data = data[n:]; len(data) < 9 || data[8] > 1 {
			return nil, errOrigin
		}
		c := originChunk{number: last + int64(gap), version: staging.Digest(binary.LittleEndian.Uint64(data)), summed: data[8] == 1}
		if data = data[9:]; c.summed {
			if len(data) < len(c.sum) {
				return nil, errOrigin
			}
			data = data[copy(c.sum[:], data):]
		}
		o.chunks, last = append(o.chunks, c), c.number
		if err := o.checkSize(most); err != nil {
			return nil, err
		}
	}
	return o, nil
}

// errUnfollowed is the error of an array that was not made to follow another one, or that
// another program has changed.
func errUnfollowed(why string) error {
	return final("the array does not follow another one: " + why + "; remove it (" + remedy.Delete + "), and follow again")
}

// readOrigin reads the origin of a document.
func readOrigin(ctx context.Context, at lineage.Array, now *snapshot.Array, most int64) (*origin, error) {
	is, err := documentIdentity(now.Doc, at.Limits)
	if err != nil {
		return nil, err
	}
	id, err := originID(now.Doc, is)
	if err != nil {
		return nil, err
	}
	key, most := at.Path.MustKey(followDir+id), max(most, leastRecords)
	data, info, err := at.Store.Get(ctx, key, store.Request{Limit: most}, nil)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, errUnfollowed("there is no " + key.String())
	case errors.Is(err, store.ErrTooLarge):
		return nil, fmt.Errorf("%w: %s has more than %s ("+remedy.Memory+")", zarr.ErrLimit, key, quantity.Count(most, "bytes"))
	case err != nil:
		return nil, err
	}
	o, err := parseOrigin(data, at.Limits, most)
	if errors.Is(err, zarr.ErrLimit) {
		return nil, err
	}
	if err != nil || len(o.doc.Shape) != len(now.Doc.Shape) {
		return nil, errUnfollowed(key.String() + " is damaged")
	}
	if !o.describes(now.Doc, at.Limits) {
		return nil, errUnfollowed("another program has appended to it, or has rechunked it")
	}
	o.id, o.stored = id, info
	return o, nil
}

// putOrigin stores an origin that no document names yet.
func putOrigin(ctx context.Context, at lineage.Array, o *origin, d store.Durability) error {
	data, err := o.marshal()
	if err != nil {
		return err
	}
	_, err = store.Write(ctx, at.Store, store.Put(at.Path.MustKey(followDir+o.id), data), d)
	return err
}

// replaceOrigin stores another origin of the document that was named before. If another
// process has done so, the error wraps [zarr.ErrConflict].
func replaceOrigin(ctx context.Context, at lineage.Array, o, before *origin, d store.Durability) error {
	// The document stays, so only a condition on the origin tells two calls apart.
	if able := store.Can(at.Store, store.OpPutIf); !able || before.stored.Version.IsZero() {
		return putOrigin(ctx, at, o, d)
	}
	data, err := o.marshal()
	if err != nil {
		return err
	}
	_, err = store.Write(ctx, at.Store, store.PutIf(at.Path.MustKey(followDir+o.id), data, store.IfVersion(before.stored.Version)), d)
	return err
}

// removeOrigins deletes the origin of a superseded document, and the older origins of
// calls that were stopped before they published. It keeps younger ones, because other
// calls may publish them at this moment. named is the origin of the present document.
func removeOrigins(ctx context.Context, at lineage.Array, o *origin, named string) error {
	dir := at.Path.MustKey(followDir + "-").Dir()
	names := []string{o.id}
	for e, err := range store.List(ctx, at.Store, dir, store.Flat) {
		if err != nil {
			return err
		}
		// By the times of the store, which are those of one clock.
		if lineage.IsID(e.Name) && e.Name != named && !e.Modified.IsZero() && e.Modified.Before(o.stored.Modified) {
			names = append(names, e.Name)
		}
	}
	for _, name := range names {
		if _, err := store.Write(ctx, at.Store, store.Delete(dir.MustKey(name)), store.Sync); err != nil {
			return err
		}
	}
	return nil
}
