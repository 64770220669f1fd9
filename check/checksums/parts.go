// SPDX-License-Identifier: Apache-2.0

package checksums

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"slices"

	"varve.dev/zarr"
	"varve.dev/zarr/internal/quantity"
	"varve.dev/zarr/internal/remedy"
	"varve.dev/zarr/store"
	"varve.dev/zarr/transfer"
)

// parts has the sums of all parts. A value takes about 100 bytes, in blocks without
// pointers: a map would take twice as much.
type parts struct {
	blocks [][]known // all are full but the last one
	sorted []uint32  // numbers of values, sorted by key; of two of one key the last one
}

// known is a value that a part knows.
type known struct {
	key keyHash
	record
}

// blockLength is the number of values in a block.
const blockLength = 1 << 12

// readParts reads all parts. Of values that are in two parts, the last one counts. It has
// at most most values.
func readParts(list []io.Reader, dandi bool, most int) (*parts, error) {
	all, tasks, of := new(parts), map[int64]bool{}, int64(0)
	for i, from := range list {
		p, err := newPartReader(from)
		if err == nil && dandi && !p.DANDI {
			err = fmt.Errorf("%w: %v was made without "+remedy.DANDI, zarr.ErrInvalidArgument, p.share())
		}
		if err == nil && i > 0 && p.Of != of {
			err = fmt.Errorf("%w: %v does not belong to %s", zarr.ErrInvalidArgument, p.share(), quantity.Count(of, "parts"))
		}
		if err == nil {
			of, tasks[p.Task] = p.Of, true
			err = p.values(func(key keyHash, r record) error { return all.add(known{key, r}, most) })
		}
		if err != nil {
			return nil, fmt.Errorf(remedy.Parts+"%d]: %w", i, err)
		}
	}
	if err := complete(tasks, of); err != nil {
		return nil, err
	}
	all.sort()
	return all, nil
}

// add adds a value.
func (p *parts) add(v known, most int) error {
	if p.len() == most {
		return fmt.Errorf("%w: parts with more than %s", zarr.ErrLimit, quantity.Count(most, "values"))
	}
	last := len(p.blocks) - 1
	if last < 0 || len(p.blocks[last]) == blockLength {
		p.blocks, last = append(p.blocks, make([]known, 0, blockLength)), last+1
	}
	p.blocks[last] = append(p.blocks[last], v)
	return nil
}

// len returns the number of values.
func (p *parts) len() int {
	last := len(p.blocks) - 1
	if last < 0 {
		return 0
	}
	return last*blockLength + len(p.blocks[last])
}

// at returns the value with a number.
func (p *parts) at(i uint32) *known { return &p.blocks[i/blockLength][i%blockLength] }

// sort prepares for find.
func (p *parts) sort() {
	p.sorted = make([]uint32, p.len())
	for i := range p.sorted {
		p.sorted[i] = uint32(i)
	}
	slices.SortFunc(p.sorted, func(i, j uint32) int {
		// The number breaks ties, and the last one comes first.
		return cmp.Or(bytes.Compare(p.at(i).key[:], p.at(j).key[:]), cmp.Compare(j, i))
	})
}

// find returns the value with a key, or nil.
func (p *parts) find(key keyHash) *known {
	i, found := slices.BinarySearchFunc(p.sorted, key, func(i uint32, key keyHash) int { return bytes.Compare(p.at(i).key[:], key[:]) })
	if !found {
		return nil
	}
	return p.at(p.sorted[i])
}

// complete returns an error that names the first part that is missing.
func complete(tasks map[int64]bool, of int64) error {
	lacking := of - int64(len(tasks))
	if lacking == 0 {
		return nil
	}
	gap := transfer.Share{Of: of}
	for tasks[gap.Task] {
		gap.Task++
	}
	if lacking == 1 {
		return fmt.Errorf("%w: %v is missing: WritePart writes it", zarr.ErrInvalidArgument, gap)
	}
	return fmt.Errorf("%w: %v is missing, and %d more: WritePart writes them", zarr.ErrInvalidArgument, gap, lacking-1)
}

// take fills in the sums of a value that was not written since its part was made. It
// returns false if the value must be read.
func (p *parts) take(e store.Entry, v *value) bool {
	if p == nil {
		return false
	}
	r := p.find(hashOf(v.key))
	if r == nil || !r.holds(e) {
		return false
	}
	v.size, v.sha256, v.md5 = r.size, r.sha256, r.md5
	return true
}
