package bzip2

import "slices"

const group = 50 // symbols between changes of the code

// symbols reads what a block has before its bytes are put in order, into the table, and returns how many they are.
func (d *decoder) symbols() (int, error) {
	used := d.readFront()
	if used == 0 {
		return 0, d.corrupt("a block uses no byte")
	}
	if err := d.readCodes(used + 2); err != nil {
		return 0, err
	}
	end, limit := used+1, d.room()
	if cap(d.table) < limit {
		d.table = make([]uint32, limit)
	}
	table := d.table[:limit]
	clear(d.counts[:])
	n, run, weight := 0, 0, 1
	for g := range d.selectors {
		c := &d.codes[d.selectors[g]]
		for range group {
			s := c.next(&d.bits)
			if s == 0 || s == 1 {
				if run += weight << s; run > limit-n {
					return 0, d.corrupt("a block has more bytes than there should be")
				}
				weight <<= 1
				continue
			}
			if run > 0 {
				n = d.repeat(table, n, run)
				run, weight = 0, 1
			}
			switch {
			case s == end && !d.bits.over():
				return n, nil
			case s < 0 || s >= end:
				return 0, d.corrupt("bits of a block are no symbol")
			case n == limit:
				return 0, d.corrupt("a block has more bytes than there should be")
			}
			b := d.front[s-1]
			copy(d.front[1:s], d.front[:s-1])
			d.front[0] = b
			table[n] = uint32(b)
			d.counts[b]++
			n++
		}
	}
	return 0, d.corrupt("a block does not end")
}

// repeat adds the symbol in front several times.
func (d *decoder) repeat(table []uint32, n, times int) int {
	b := d.front[0]
	d.counts[b] += uint32(times)
	for i := range table[n : n+times] {
		table[n+i] = uint32(b)
	}
	return n + times
}

// readFront reads which bytes a block uses, and returns how many.
func (d *decoder) readFront() int {
	rows, n := d.bits.take(16), 0
	for row := range 16 {
		if rows>>(15-row)&1 == 0 {
			continue
		}
		columns := d.bits.take(16)
		for column := range 16 {
			if columns>>(15-column)&1 != 0 {
				d.front[n] = byte(16*row + column)
				n++
			}
		}
	}
	return n
}

// readCodes reads the codes of a block, for so many symbols, and which of them every group of symbols uses.
func (d *decoder) readCodes(symbols int) error {
	codes, selectors := int(d.bits.take(3)), int(d.bits.take(15))
	if codes < 2 || codes > len(d.codes) || selectors == 0 {
		return d.corrupt("a block has too few codes or too many")
	}
	d.selectors = slices.Grow(d.selectors[:0], selectors)
	front := [6]byte{0, 1, 2, 3, 4, 5}
	for range selectors {
		at := unary(&d.bits, codes)
		if at == codes || d.bits.over() {
			return d.corrupt("a group of symbols uses a code that is not there")
		}
		v := front[at]
		copy(front[1:at+1], front[:at])
		front[0] = v
		d.selectors = append(d.selectors, v)
	}
	var lengths [alphabet]byte
	for i := range codes {
		if !readLengths(&d.bits, lengths[:symbols]) || !d.codes[i].build(lengths[:symbols]) {
			return d.corrupt("a code has words of impossible lengths")
		}
	}
	return nil
}

// untangle undoes the sorting of a block, whose first byte is at that place of the table, and the runs of bytes.
func (d *decoder) untangle(first, n int) error {
	table := d.table[:n]
	sum := uint32(0)
	for b, c := range d.counts {
		d.counts[b] = sum
		sum += c
	}
	for i, v := range table {
		b := byte(v)
		table[d.counts[b]] |= uint32(i) << 8
		d.counts[b]++
	}
	out, at := d.out, table[first]>>8
	same, last := 0, -1
	for range n {
		v := table[at]
		b := int(byte(v))
		at = v >> 8
		if same == 4 {
			if b > d.limit-len(out) {
				return d.corrupt("it decodes to more bytes than there should be")
			}
			for range b {
				out = append(out, byte(last))
			}
			same, last = 0, -1
			continue
		}
		if len(out) == d.limit {
			return d.corrupt("it decodes to more bytes than there should be")
		}
		out = append(out, byte(b))
		if b != last {
			same, last = 0, b
		}
		same++
	}
	d.out = out
	return nil
}

// polynomials are the remainders of bytes for the checksum of bzip2, the highest bit first.
var polynomials = func() (table [256]uint32) {
	for i := range table {
		v := uint32(i) << 24
		for range 8 {
			carry := v >> 31
			v = v<<1 ^ carry*0x04c11db7
		}
		table[i] = v
	}
	return table
}()

// checksum returns the checksum of a block.
func checksum(data []byte) uint32 {
	sum := ^uint32(0)
	for _, b := range data {
		sum = sum<<8 ^ polynomials[byte(sum>>24)^b]
	}
	return ^sum
}
