// SPDX-License-Identifier: Apache-2.0

package regrid

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"

	"varve.dev/zarr"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/checked"
	"varve.dev/zarr/internal/lineage"
	"varve.dev/zarr/internal/own"
	"varve.dev/zarr/internal/snapshot"
	"varve.dev/zarr/internal/staging"
	"varve.dev/zarr/metadata"
	"varve.dev/zarr/store"
)

// followDir is the directory, below that of an array that follows another one, of the
// origins of its documents.
const followDir = own.Dir + "/follow/"

// slots are the names of two origins: that of the document that is published, and that of
// the one that is published next. Each names its document, so the write that publishes
// the next document also changes from one origin to the other.
var slots = [2]string{"a", "b"}

// origin is the state of the array that is followed of which a document was made.
type origin struct {
	// Document identifies the document of the array that follows; see documentIdentity.
	Document string `json:"document"`
	// Source is the name of the array that is followed, and of its store.
	Source string `json:"source"`
	// Array is the document of the array that is followed, without attributes.
	Array json.RawMessage `json:"array"`
	// Region is the part of it that is followed; see [Rechunking].
	Region grid.Box `json:"region,omitempty"`

	chunks []originChunk // that were stored, in C order; those that have elements of the region
	grid   *grid.Grid    // of the array that is followed
	doc    *metadata.Array
	slot   string // where it is stored, or ""
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
	o := &origin{Source: source, grid: from.Grid, doc: from.Doc}
	var err error
	if o.Document, err = documentIdentity(doc, l); err != nil {
		return nil, err
	}
	if o.Array, err = bareDocument(from.Doc, l); err != nil {
		return nil, err
	}
	for index := range chunks.All() {
		o.chunks = append(o.chunks, originChunk{number: numberOf(o.grid, index), version: chunks.Digest(index)})
	}
	return o, nil
}

// checkVersions returns an error if the store of the array that is followed tells no
// versions.
func (s *session) checkVersions(ctx context.Context) error {
	from, err := s.Fresh(ctx)
	if err != nil {
		return err
	}
	chunks, err := staging.List(ctx, from)
	if err == nil && !chunks.Versioned() {
		err = fmt.Errorf("%w: the store tells no versions of chunks, so changes would not be noticed; copy the array, or leave out following", zarr.ErrUnsupported)
	}
	return err
}

// bareDocument returns a document without attributes.
func bareDocument(doc *metadata.Array, l metadata.Limits) ([]byte, error) {
	bare, err := doc.WithAttributes([]byte("{}"))
	if err != nil {
		return nil, err
	}
	return bare.Marshal(l)
}

// documentIdentity identifies a document by all that says which elements are where.
// Attributes may change.
func documentIdentity(doc *metadata.Array, l metadata.Limits) (string, error) {
	raw, err := bareDocument(doc, l)
	if err != nil {
		return "", err
	}
	hash := sha256.Sum256(raw)
	return hex.EncodeToString(hash[:16]), nil
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
	return o.Document == p.Document && bytes.Equal(o.Array, p.Array) && slices.Equal(o.chunks, p.chunks)
}

// originMagic begins an encoded origin. A line of JSON follows, and the chunks: the
// difference of the number to that of the chunk before, the digest of the version, and
// the sum, after a byte that says whether there is one.
const originMagic = "varve follow 1\n"

// errOrigin is the error of an origin that is damaged.
var errOrigin = errors.New("the record of the array that is followed is damaged")

func (o *origin) marshal() ([]byte, error) {
	head, err := json.Marshal(o)
	if err != nil {
		return nil, err
	}
	data := append([]byte(originMagic), head...)
	data = append(data, '\n')
	last := int64(0)
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
func parseOrigin(data []byte, l metadata.Limits) (*origin, error) {
	data, ok := bytes.CutPrefix(data, []byte(originMagic))
	head, data, found := bytes.Cut(data, []byte("\n"))
	o := new(origin)
	if !ok || !found || json.Unmarshal(head, o) != nil {
		return nil, errOrigin
	}
	var err error
	if o.doc, err = (lineage.Array{Limits: l}).Parse(o.Array); err != nil {
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
	}
	return o, nil
}

// errUnfollowed is the error of an array that was not made to follow another one, or that
// another program has changed.
func errUnfollowed(why string) error {
	return final("the array does not follow another one: " + why + "; remove it (zarr.Delete), and follow again")
}

// readOrigin reads the origin of a document.
func readOrigin(ctx context.Context, at lineage.Array, doc *metadata.Array, most int64) (*origin, error) {
	is, err := documentIdentity(doc, at.Limits)
	if err != nil {
		return nil, err
	}
	some := false
	for _, slot := range slots {
		key := at.Path.MustKey(followDir + slot)
		data, _, err := at.Store.Get(ctx, key, store.Request{Limit: max(most, leastRecords)}, nil)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if errors.Is(err, store.ErrTooLarge) {
			return nil, fmt.Errorf("%w: %s has more than %d bytes (Options.Memory)", zarr.ErrLimit, key, max(most, leastRecords))
		}
		if err != nil {
			return nil, err
		}
		some = true
		o, err := parseOrigin(data, at.Limits)
		if err == nil && o.Document == is {
			o.slot = slot
			return o, nil
		}
	}
	if !some {
		return nil, errUnfollowed("there is nothing in " + followDir)
	}
	return nil, errUnfollowed("another program has appended to it or has re-gridded it, or " + followDir + " is damaged")
}

// putOrigin stores an origin where the present one, which may be nil, is not.
func putOrigin(ctx context.Context, at lineage.Array, o, present *origin, d store.Durability) error {
	data, err := o.marshal()
	if err != nil {
		return err
	}
	o.slot = slots[0]
	if present != nil && present.slot == o.slot {
		o.slot = slots[1]
	}
	_, err = store.Put(ctx, at.Store, at.Path.MustKey(followDir+o.slot), data, d)
	return err
}

// originName names the array that is followed, and its store.
func (s *session) originName() string {
	return path.Base(store.PlaceOf(s.Node.Store)) + "/" + s.Node.Path.String()
}

// noteOrigin stores the origin of a new array, before that is published.
func (w *work) noteOrigin(ctx context.Context) error {
	region := bare(w.request).(Rechunking).Region
	if err := keepWithin(w.sources, w.old.Grid, region); err != nil {
		return err
	}
	o, err := newOrigin(w.originName(), w.old, w.sources, w.next.Doc, w.Node.Limits)
	if err != nil {
		return err
	}
	o.Region = region
	return putOrigin(ctx, w.at, o, nil, w.Node.Durability)
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
