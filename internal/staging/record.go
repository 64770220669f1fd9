// SPDX-License-Identifier: Apache-2.0

package staging

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"slices"

	"varve.dev/zarr/grid"
	"varve.dev/zarr/store"
)

// Digest is a short hash of the version of a value. It is 0 for a value that does not
// exist.
type Digest uint64

// DigestOf returns the digest of a version. A store without versions gives every value
// the same.
func DigestOf(v store.Version) Digest {
	return DigestOfText(v.String())
}

// DigestOfText returns the digest of a text that identifies elements.
func DigestOfText(text string) Digest {
	sum := sha256.Sum256([]byte(text))
	return Digest(binary.LittleEndian.Uint64(sum[:]) | 1)
}

// digestIf is DigestOf, but 0 for the zero version, which the store does not know.
func digestIf(v store.Version) Digest {
	if v.IsZero() {
		return 0
	}
	return DigestOf(v)
}

// mixed is the digest of a value that was read in two versions. No version has it.
const mixed Digest = 2

// Fold is a hash of the place of a target chunk, of the pieces of an object of scratch,
// and of the versions of the source chunks that it was made from. It is zero if none of
// them was stored.
type Fold [16]byte

// Record describes a staged chunk.
type Record struct {
	Index []int64 // of the chunk in the target
	Fold  Fold
	// Stored is set if the chunk is stored. Otherwise it has only the fill value.
	Stored bool
	// Version is the digest of the staged value, or 0 if it is not known.
	Version Digest
}

// fold returns the fold of the target chunk at an index, given the versions of source
// chunks.
func (j *Job) fold(p part, at []int64, listed *Table, version func(source []int64) Digest) Fold {
	var room [256]byte
	data, found := room[:0], false
	for i, k := range at {
		is, _ := j.axes[i].target.Cell(k)
		data = binary.AppendVarint(data, is.Start)
		data = binary.AppendVarint(data, is.Logical)
		data = binary.AppendVarint(data, is.Encoded)
		data = j.axes[i].appendMoved(data, is)
		if j.cuts != nil {
			data = appendCuts(data, j.cuts.Axis(i), is)
		}
		if p.cell(i, at).given {
			data, found = binary.LittleEndian.AppendUint64(data, uint64(j.given.Digest)), true
		}
	}
	for source := range j.sources(p, at, listed) {
		v := version(source)
		if v == 0 {
			continue
		}
		found = true
		for _, k := range source {
			data = binary.AppendVarint(data, k)
		}
		data = binary.LittleEndian.AppendUint64(data, uint64(v))
	}
	// A chunk without sources is not staged, unless the target has another fill value.
	if !found && !j.fills {
		return Fold{}
	}
	sum := sha256.Sum256(data)
	return Fold(sum[:16])
}

// appendCuts appends the lengths of the pieces into which the cells of an axis cut a
// block.
func appendCuts(data []byte, cuts grid.Axis, block grid.Cell) []byte {
	stop := block.Start + block.Logical
	k, _, ok := cuts.Locate(block.Start)
	for at := block.Start; ok && at < stop; k++ {
		c, more := cuts.Cell(k)
		if !more || c.Logical == 0 {
			break
		}
		next := min(stop, c.Start+c.Logical)
		data, at = binary.AppendVarint(data, next-at), next
	}
	return data
}

// magic begins the encoded records.
const magic = "varve staging 1\n"

// How a record says what is stored.
const (
	absent byte = iota
	unknownVersion
	knownVersion
)

// AppendRecords appends the encoded form of records to dst.
func AppendRecords(dst []byte, records []Record) []byte {
	dst = append(dst, magic...)
	for _, r := range records {
		kind := absent
		if r.Stored {
			kind = unknownVersion
			if r.Version != 0 {
				kind = knownVersion
			}
		}
		dst = append(dst, kind)
		for _, k := range r.Index {
			dst = binary.AppendUvarint(dst, uint64(k))
		}
		dst = append(dst, r.Fold[:]...)
		if kind == knownVersion {
			dst = binary.LittleEndian.AppendUint64(dst, uint64(r.Version))
		}
	}
	return dst
}

// errRecords is the error of records that are damaged. They are only a memory of finished
// work, so the caller may do the work again.
var errRecords = errors.New("staging: the records of staged chunks are damaged")

// ParseRecords parses what [AppendRecords] has encoded, for an array of the given rank.
func ParseRecords(data []byte, rank int) ([]Record, error) {
	data, ok := bytes.CutPrefix(data, []byte(magic))
	if !ok {
		return nil, errRecords
	}
	var records []Record
	index := make([]int64, rank)
	for len(data) > 0 {
		kind := data[0]
		data = data[1:]
		r := Record{Stored: kind != absent}
		for i := range index {
			k, n := binary.Uvarint(data)
			if n <= 0 || int64(k) < 0 {
				return nil, errRecords
			}
			index[i], data = int64(k), data[n:]
		}
		if kind > knownVersion || len(data) < len(r.Fold) {
			return nil, errRecords
		}
		data = data[copy(r.Fold[:], data):]
		if kind == knownVersion {
			if len(data) < 8 {
				return nil, errRecords
			}
			r.Version, data = Digest(binary.LittleEndian.Uint64(data)), data[8:]
		}
		r.Index = slices.Clone(index)
		records = append(records, r)
	}
	return records, nil
}
