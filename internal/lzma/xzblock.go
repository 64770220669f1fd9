package lzma

import (
	"bytes"
	"fmt"
)

// header is that of a block.
type header struct {
	stored, decoded int64 // bytes; -1 where it does not say
	deltas          [3]int
	filters         int // deltas that there are
}

// block decodes a block and adds it to the records.
func (x *xz) block(check Check, to *records) error {
	from := x.pos
	h, err := x.header()
	if err != nil {
		return err
	}
	body, before := x.pos, len(x.out)
	out, n, err := append2(x.out, x.src[x.pos:], x.limit-len(x.out))
	if err != nil {
		return err
	}
	x.out, x.pos = out, x.pos+n
	data := out[before:]
	if h.stored >= 0 && h.stored != int64(n) || h.decoded >= 0 && h.decoded != int64(len(data)) {
		return wrong("a block has other sizes than its header says")
	}
	for i := h.filters - 1; i >= 0; i-- {
		Undelta(data, h.deltas[i])
	}
	if err := x.padding(body); err != nil {
		return err
	}
	size, err := check.size()
	if err != nil {
		return err
	}
	stored, err := x.take(size)
	if err != nil {
		return err
	}
	var room [32]byte
	if !bytes.Equal(check.append(room[:0], data), stored) {
		return fmt.Errorf("%w: of a block", ErrChecksum)
	}
	to.add(uint64(body-from)+uint64(n)+uint64(size), uint64(len(data)))
	return nil
}

// header reads the header of a block.
func (x *xz) header() (header, error) {
	h := header{stored: -1, decoded: -1}
	size := (int(x.src[x.pos]) + 1) * 4
	b, err := x.checked(size - crcSize)
	if err != nil {
		return h, err
	}
	r := xz{src: b, pos: 2}
	const filters, reserved, hasStored, hasDecoded = 0x03, 0x3c, 0x40, 0x80
	if b[1]&reserved != 0 {
		return h, fmt.Errorf("%w: flags %#x of a block", ErrUnsupported, b[1])
	}
	if b[1]&hasStored != 0 {
		if h.stored, err = r.size(); err != nil {
			return h, err
		}
	}
	if b[1]&hasDecoded != 0 {
		if h.decoded, err = r.size(); err != nil {
			return h, err
		}
	}
	h.filters = int(b[1] & filters)
	for i := range h.filters {
		if h.deltas[i], err = r.delta(); err != nil {
			return h, err
		}
	}
	if err := r.lzma2(); err != nil {
		return h, err
	}
	if len(bytes.Trim(b[r.pos:], "\x00")) > 0 {
		return h, wrong("padding is not zero")
	}
	return h, nil
}

func (x *xz) size() (int64, error) {
	n, err := x.number()
	return int64(n), err
}

// filter reads a filter and its properties.
func (x *xz) filter() (id uint64, properties []byte, err error) {
	if id, err = x.number(); err != nil {
		return 0, nil, err
	}
	n, err := x.number()
	if err != nil {
		return 0, nil, err
	}
	properties, err = x.take(int(min(n, 1<<10)))
	return id, properties, err
}

// delta reads a filter that has to be a delta and returns its distance.
func (x *xz) delta() (int, error) {
	id, p, err := x.filter()
	if err == nil && id != filterDelta {
		err = fmt.Errorf("%w: filter %#x of an .xz file; only delta (0x3) and LZMA2 (0x21) are", ErrUnsupported, id)
	}
	if err == nil && len(p) != 1 {
		err = wrong("a delta has %d bytes of properties", len(p))
	}
	if err != nil {
		return 0, err
	}
	return int(p[0]) + 1, nil
}

// lzma2 reads the last filter.
func (x *xz) lzma2() error {
	id, p, err := x.filter()
	if err == nil && id != filterLZMA2 {
		err = fmt.Errorf("%w: filter %#x of an .xz file as the last one; only LZMA2 (0x21) is", ErrUnsupported, id)
	}
	if err == nil && (len(p) != 1 || p[0] > last) {
		err = wrong("LZMA2 has properties %x", p)
	}
	return err
}
