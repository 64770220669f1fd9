package lzma

import "fmt"

const (
	states       = 12
	positions    = 1 << 4 // states of a position
	slotBits     = 6
	alignBits    = 4
	fullSlots    = 14 // distances of later slots have bits that are even
	shortest     = 2  // bytes of a match
	endMarker    = 0xffffffff
	firstMatch   = 7 // states from here on are behind a match
	literalModel = 0x300
)

// lengthModel has the probabilities of lengths.
type lengthModel struct {
	choice [2]uint16
	low    [positions][1 << 3]uint16
	middle [positions][1 << 3]uint16
	high   [1 << 8]uint16
}

// model has all probabilities.
type model struct {
	isMatch, isLong           [states][positions]uint16
	isRepeat, is0, is1, is2   [states]uint16
	slots                     [4][1 << slotBits]uint16
	distances                 [1 + 128 - fullSlots]uint16
	align                     [1 << alignBits]uint16
	matchLengths, repeatSizes lengthModel
	literals                  [literalModel << 4]uint16
}

// decoder is the state of decoding one stream.
type decoder struct {
	rangeCoder
	properties Properties
	out        []byte
	start      int // of the dictionary in out
	limit      int // of the length of out
	ended      bool

	state   uint32
	repeats [4]uint32 // the last distances, less one
	model   model
}

func (d *decoder) release() {
	d.rangeCoder, d.out, d.ended = rangeCoder{}, nil, false
	decoders.Put(d)
}

// corrupt returns an error, which is that the stream is cut off where it is.
func (r *rangeCoder) corrupt(what string) error {
	if r.over() {
		what = "the stream is cut off"
	}
	return fmt.Errorf("%w: %s", ErrCorrupt, what)
}

// reset forgets what was learned.
func (d *decoder) reset() {
	d.state, d.repeats, d.ended = 0, [4]uint32{}, false
	m := &d.model
	for i := range states {
		evenOut(m.isMatch[i][:], m.isLong[i][:])
	}
	evenOut(m.isRepeat[:], m.is0[:], m.is1[:], m.is2[:], m.distances[:], m.align[:])
	for i := range m.slots {
		evenOut(m.slots[i][:])
	}
	for _, l := range []*lengthModel{&m.matchLengths, &m.repeatSizes} {
		evenOut(l.choice[:], l.high[:])
		for i := range positions {
			evenOut(l.low[i][:], l.middle[i][:])
		}
	}
	evenOut(m.literals[:literalModel<<(d.properties.LC+d.properties.LP)])
}

func evenOut(all ...[]uint16) {
	for _, p := range all {
		for i := range p {
			p[i] = even
		}
	}
}

// run decodes until the limit is reached or the end marker found.
func (d *decoder) run() error {
	mask := uint32(1)<<d.properties.PB - 1
	for len(d.out) < d.limit {
		position := uint32(len(d.out)-d.start) & mask
		if d.bit(&d.model.isMatch[d.state][position]) == 0 {
			d.literal()
			continue
		}
		if err := d.match(position); err != nil || d.ended {
			return err
		}
		if d.over() {
			return d.corrupt("")
		}
	}
	if d.over() {
		return d.corrupt("")
	}
	return nil
}

// expectEnd decodes an end marker.
func (d *decoder) expectEnd() error {
	position := uint32(len(d.out)-d.start) & (uint32(1)<<d.properties.PB - 1)
	if d.bit(&d.model.isMatch[d.state][position]) == 1 {
		if err := d.match(position); err != nil || d.ended {
			return err
		}
	}
	return d.corrupt("it decodes to more bytes than there should be")
}

// literal decodes one byte.
func (d *decoder) literal() {
	before, p := uint32(0), d.properties
	if len(d.out) > d.start {
		before = uint32(d.out[len(d.out)-1])
	}
	place := uint32(len(d.out)-d.start) & (1<<p.LP - 1)
	probabilities := d.model.literals[literalModel*(place<<p.LC+before>>(8-p.LC)):][:literalModel]
	if d.state < firstMatch {
		d.out = append(d.out, byte(d.tree(probabilities, 8)))
	} else {
		there := d.out[len(d.out)-int(d.repeats[0])-1]
		d.out = append(d.out, d.matched(probabilities, there))
	}
	switch {
	case d.state < 4:
		d.state = 0
	case d.state < 10:
		d.state -= 3
	default:
		d.state -= 6
	}
}

// next returns the state behind an element of a kind, which has one state after literals and another after matches.
func (d *decoder) next(afterLiteral, afterMatch uint32) uint32 {
	if d.state < firstMatch {
		return afterLiteral
	}
	return afterMatch
}

// match decodes a match or a repeated one, and copies.
func (d *decoder) match(position uint32) error {
	m, length := &d.model, uint32(0)
	if d.bit(&m.isRepeat[d.state]) == 0 {
		length = d.length(&m.matchLengths, position)
		distance := d.distance(length)
		d.repeats = [4]uint32{distance, d.repeats[0], d.repeats[1], d.repeats[2]}
		if d.state = d.next(7, 10); distance == endMarker {
			d.ended = true
			return nil
		}
	} else {
		if d.bit(&m.is0[d.state]) == 1 {
			d.earlier()
		} else if d.bit(&m.isLong[d.state][position]) == 0 {
			d.state = d.next(9, 11)
			return d.copy(1)
		}
		length = d.length(&m.repeatSizes, position)
		d.state = d.next(8, 11)
	}
	return d.copy(int(length) + shortest)
}

// earlier makes an earlier distance the last one.
func (d *decoder) earlier() {
	r := &d.repeats
	switch {
	case d.bit(&d.model.is1[d.state]) == 0:
		r[0], r[1] = r[1], r[0]
	case d.bit(&d.model.is2[d.state]) == 0:
		r[0], r[1], r[2] = r[2], r[0], r[1]
	default:
		r[0], r[1], r[2], r[3] = r[3], r[0], r[1], r[2]
	}
}

// length decodes the length of a match, less the shortest.
func (d *decoder) length(l *lengthModel, position uint32) uint32 {
	if d.bit(&l.choice[0]) == 0 {
		return d.tree(l.low[position][:], 3)
	}
	if d.bit(&l.choice[1]) == 0 {
		return 8 + d.tree(l.middle[position][:], 3)
	}
	return 16 + d.tree(l.high[:], 8)
}

// distance decodes the distance, less one, of a match of a length.
func (d *decoder) distance(length uint32) uint32 {
	slot := d.tree(d.model.slots[min(length, 3)][:], slotBits)
	if slot < 4 {
		return slot
	}
	bits := int(slot>>1) - 1
	distance := (2 | slot&1) << bits
	if slot < fullSlots {
		return distance + d.reverse(d.model.distances[:], int(distance)-int(slot), bits)
	}
	distance += d.direct(bits-alignBits) << alignBits
	return distance + d.reverse(d.model.align[:], 0, alignBits)
}

// copy appends bytes from the last distance.
func (d *decoder) copy(n int) error {
	distance := int64(d.repeats[0]) + 1
	if distance > int64(len(d.out)-d.start) {
		return d.corrupt("a match begins before the data")
	}
	if n > d.limit-len(d.out) {
		return d.corrupt("it decodes to more bytes than there should be")
	}
	from := len(d.out) - int(distance)
	if int(distance) >= n {
		d.out = append(d.out, d.out[from:from+n]...)
		return nil
	}
	for i := range n {
		d.out = append(d.out, d.out[from+i])
	}
	return nil
}
