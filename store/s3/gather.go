// SPDX-License-Identifier: Apache-2.0

package s3

import "context"

// readsAtOnce is the number of sources that are read at the same time.
const readsAtOnce = 32

// take is a range to read into the joined bytes at a position.
type take struct {
	off, n, at int64
}

// read returns the bytes of segments. New bytes are not copied; those of sources are read
// into memory, several sources at a time.
func (g segments) read(ctx context.Context) (pieces, error) {
	var (
		old   int64
		data  pieces
		from  []*source
		takes = map[*source][]take{}
	)
	for _, s := range g {
		if s.source != nil {
			if takes[s.source] == nil {
				from = append(from, s.source)
			}
			takes[s.source] = append(takes[s.source], take{s.off, s.n, old})
			old += s.n
		}
	}
	buf := make([]byte, old)
	err := each(ctx, len(from), readsAtOnce, func(ctx context.Context, i int) error { return from[i].fill(ctx, takes[from[i]], buf) })
	if err != nil {
		return nil, err
	}
	for _, s := range g {
		if s.source == nil {
			data = append(data, s.data...)
			continue
		}
		data = append(data, buf[:s.n])
		buf = buf[s.n:]
	}
	return data, nil
}

// gap is the largest number of bytes between two ranges that are read together. A longer
// read costs less than a second request.
const gap = 1 << 20

// fill reads ranges of the source into buf. Ranges that follow each other closely are
// read together.
func (x *source) fill(ctx context.Context, takes []take, buf []byte) error {
	for len(takes) > 0 {
		first, k := takes[0], 1
		end := first.off + first.n
		for k < len(takes) && takes[k].off >= end && takes[k].off-end <= gap {
			end = takes[k].off + takes[k].n
			k++
		}
		if k == 1 {
			if _, err := x.read(ctx, first.off, first.n, buf[first.at:first.at:first.at+first.n]); err != nil {
				return err
			}
			takes = takes[1:]
			continue
		}
		window, err := x.read(ctx, first.off, end-first.off, nil)
		if err != nil {
			return err
		}
		for _, t := range takes[:k] {
			copy(buf[t.at:t.at+t.n], window[t.off-first.off:])
		}
		takes = takes[k:]
	}
	return nil
}
