// SPDX-License-Identifier: Apache-2.0

package extra

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"

	"github.com/ulikunitz/xz"
	"github.com/ulikunitz/xz/lzma"
	"varve.dev/zarr/codec"
)

// largestDictionary is the dictionary of preset 9, in bytes. A header may claim no more,
// unless the configuration or the chunk has more. A dictionary never takes more memory
// than the chunk.
const largestDictionary = 64 << 20

// lzmaCoder is the codec numcodecs.lzma. The library reuses no memory. Every decoding
// allocates the dictionary (at most as long as the decoded bytes), about 30 kB of
// probabilities, and 16 bytes for every match.
type lzmaCoder struct {
	format     int
	check      byte // of .xz files
	chunked    bool // LZMA2; otherwise LZMA with an end marker
	dictionary int  // bytes
	properties lzma.Properties
	deltas     []int // distances, in bytes
}

// MaxEncoded implements [codec.BytesBytes]. Incompressible data is stored in chunks of
// 64 KiB, or as literals that are slightly longer. A file may have several blocks.
func (*lzmaCoder) MaxEncoded(n int64) int64 {
	const headers = 4 << 10
	n = min(n, math.MaxInt64/2)
	return n + n/16 + headers
}

// Guarded implements [codec.Guarded].
func (c *lzmaCoder) Guarded() bool { return c.format == formatXZ && c.check != 0 }

// Encode implements [codec.BytesBytes]. It uses only the dictionary size of a preset.
// The library also has a tree search for matches, but that takes hours for a chunk of
// zeros, and its streams do not decode.
func (c *lzmaCoder) Encode(dst, src []byte) ([]byte, error) {
	data := src
	if len(c.deltas) > 0 {
		// The filters work in place, and src must not change.
		data = bytes.Clone(src)
		for _, d := range c.deltas {
			delta(data, d)
		}
	}
	to := &sink{dst}
	w, err := c.writer(to, len(src))
	if err == nil {
		_, err = w.Write(data)
	}
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		return dst, fmt.Errorf("lzma: %w", err)
	}
	// The library wrote the header of a .lzma file, which a raw stream lacks.
	if c.format == formatRaw && !c.chunked {
		to.out = slices.Delete(to.out, len(dst), len(dst)+lzma.HeaderLen)
	}
	return to.out, nil
}

// writer returns a compressor for n bytes.
func (c *lzmaCoder) writer(to io.Writer, n int) (io.WriteCloser, error) {
	dictionary, err := lzma.DecodeDictCap(lzma.EncodeDictCap(int64(min(c.dictionary, n)))) // a size that liblzma accepts
	if err != nil {
		return nil, err
	}
	size, p := int(max(dictionary, lzma.MinDictCap)), c.properties
	switch {
	case c.format == formatXZ && len(c.deltas) > 0:
		return nil, fmt.Errorf("%w: filter %#x (delta) can only be read in .xz files, not written; write format 3", codec.ErrUnsupported, filterDelta)
	case c.format == formatXZ:
		return xz.WriterConfig{Properties: &p, DictCap: size, CheckSum: c.check, NoCheckSum: c.check == 0}.NewWriter(to)
	case c.chunked:
		return lzma.Writer2Config{Properties: &p, DictCap: size}.NewWriter2(to)
	}
	return lzma.WriterConfig{Properties: &p, DictCap: size}.NewWriter(to)
}

// Decode implements [codec.BytesBytes].
func (c *lzmaCoder) Decode(dst, src []byte, most int64) ([]byte, error) {
	out, err := c.decode(slices.Grow(dst, int(most)), src, int(most))
	switch {
	case err == nil:
		return out, nil
	case errors.Is(err, codec.ErrCorrupt), errors.Is(err, codec.ErrUnsupported):
		return dst, fmt.Errorf("lzma: %w", err)
	}
	return dst, fmt.Errorf("%w: lzma: %w", codec.ErrCorrupt, err)
}

func (c *lzmaCoder) decode(dst, src []byte, most int) (out []byte, err error) {
	switch {
	case c.format == formatXZ:
		return appendXZ(dst, src, most, c.allowed(most))
	case c.format == formatAlone:
		return appendAlone(dst, src, most, c.allowed(most))
	case c.chunked:
		used := 0
		if out, used, err = appendChunks(dst, src, most, c.dictionary); err == nil && used < len(src) {
			err = follows(len(src) - used)
		}
	default:
		out, err = appendStream(dst, src, most, header{c.properties.Code(), int64(c.dictionary), unknownSize})
	}
	for i := len(c.deltas) - 1; i >= 0 && err == nil; i-- {
		undelta(out[len(dst):], c.deltas[i])
	}
	return out, err
}

// allowed returns the largest dictionary that the header of a chunk of most bytes may
// claim.
func (c *lzmaCoder) allowed(most int) int64 { return int64(max(largestDictionary, c.dictionary, most)) }

// tooLarge returns the error for a dictionary that is larger than the metadata allows.
func tooLarge(claimed, allowed int64) error {
	return fmt.Errorf("%w: %w: a header claims a dictionary of %d bytes, but at most %d are possible", codec.ErrCorrupt, codec.ErrLimit, claimed, allowed)
}

func corrupt(format string, args ...any) error {
	return fmt.Errorf("%w: %w", codec.ErrCorrupt, fmt.Errorf(format, args...))
}

func follows(n int) error { return corrupt("%d bytes follow the end", n) }

// unknownSize is the size in the header of a stream that ends with a marker.
const unknownSize = math.MaxUint64

// header is the header of a .lzma file.
type header struct {
	properties byte
	dictionary int64  // bytes
	size       uint64 // bytes that it decodes to
}

// appendAlone decodes src, a .lzma file, and appends the result.
func appendAlone(dst, src []byte, most int, allowed int64) ([]byte, error) {
	if len(src) < lzma.HeaderLen {
		return dst, corrupt("%d bytes are too few for a file", len(src))
	}
	h := header{src[0], int64(binary.LittleEndian.Uint32(src[1:])), binary.LittleEndian.Uint64(src[5:])}
	if !validProperties(h.properties) {
		return dst, corrupt("properties %#x", h.properties)
	}
	if h.dictionary > allowed {
		return dst, tooLarge(h.dictionary, allowed)
	}
	if h.size != unknownSize && h.size > uint64(most) {
		return dst, fmt.Errorf("%w: it claims %d bytes, but at most %d are possible", codec.ErrTooLong, h.size, most)
	}
	return appendStream(dst, src[lzma.HeaderLen:], most, h)
}

// appendStream decodes src, a raw LZMA stream, and appends the result. The library
// requires a header and allocates the dictionary that it claims. So appendStream passes a
// header whose dictionary is no larger than the decoded bytes.
func appendStream(dst, src []byte, most int, h header) ([]byte, error) {
	dictionary := min(h.dictionary, int64(max(most, lzma.MinDictCap)))
	header := binary.LittleEndian.AppendUint32([]byte{h.properties}, uint32(dictionary))
	header = binary.LittleEndian.AppendUint64(header, h.size)
	in := bytes.NewReader(append(header, src...))
	r, err := lzma.NewReader(in)
	if err != nil {
		return dst, err
	}
	out, err := codec.ReadAll(dst, r, most)
	if err == nil && in.Len() > 0 {
		err = follows(in.Len())
	}
	return out, err
}

// delta replaces every byte by its difference from the byte at the given distance
// before it.
func delta(data []byte, distance int) {
	for i := len(data) - 1; i >= distance; i-- {
		data[i] -= data[i-distance]
	}
}

// undelta reverts delta.
func undelta(data []byte, distance int) {
	for i := distance; i < len(data); i++ {
		data[i] += data[i-distance]
	}
}

// chunk is a chunk of an LZMA2 stream.
type chunk struct {
	stored  int // bytes, its header included
	decoded int // bytes; 0 for the end
}

// nextChunk reads the header of the first chunk in src. It checks the properties, because
// the library allocates up to 6 MB for those that LZMA2 does not allow.
func nextChunk(src []byte) (chunk, error) {
	const (
		stored  = 0x02 // at most: the chunk is not compressed
		packed  = 0x80 // at least: the chunk is compressed
		changed = 0xc0 // at least: the chunk also has properties
	)
	b := append(make([]byte, 0, 6), src[:min(6, len(src))]...)[:6]
	high, low := int(binary.BigEndian.Uint16(b[1:])), int(binary.BigEndian.Uint16(b[3:]))
	var c chunk
	switch control := b[0]; {
	case control == 0:
		c.stored = 1
	case control <= stored:
		c = chunk{3 + high + 1, high + 1}
	case control < packed:
		return c, corrupt("a chunk begins with %#x", control)
	case control < changed:
		c = chunk{5 + low + 1, (int(control)&0x1f)<<16 | high + 1}
	case !validProperties(b[5]):
		return c, corrupt("a chunk has the properties %#x", b[5])
	default:
		c = chunk{6 + low + 1, (int(control)&0x1f)<<16 | high + 1}
	}
	if c.stored > len(src) {
		return c, corrupt("the stream is truncated")
	}
	return c, nil
}

// validProperties reports whether a properties byte is valid. liblzma refuses the same
// bytes.
func validProperties(b byte) bool {
	p, err := lzma.PropertiesForCode(b)
	return err == nil && p.LC+p.LP <= 4
}

// chunksSize returns the bytes of the first LZMA2 stream in src, and its decoded bytes,
// at most most.
func chunksSize(src []byte, most int) (stored, decoded int, err error) {
	for {
		c, err := nextChunk(src[stored:])
		if err != nil {
			return 0, 0, err
		}
		stored += c.stored
		if c.decoded == 0 {
			return stored, decoded, nil
		}
		if decoded += c.decoded; decoded > most {
			return 0, 0, fmt.Errorf("%w: it decodes to more than %d bytes", codec.ErrTooLong, most)
		}
	}
}

// appendChunks decodes the first LZMA2 stream in src and appends the result. It also
// returns the bytes of the stream. It decodes chunk by chunk, because the library would
// take unused bytes of one chunk for the next.
func appendChunks(dst, src []byte, most, dictionary int) (out []byte, used int, err error) {
	stored, decoded, err := chunksSize(src, most)
	if err != nil || decoded == 0 {
		return dst, stored, err
	}
	in := bytes.NewReader(src[:stored])
	r, err := lzma.Reader2Config{DictCap: max(lzma.MinDictCap, min(dictionary, decoded))}.NewReader2(in)
	if err != nil {
		return dst, 0, err
	}
	for out = dst; ; {
		c, err := nextChunk(src[used:])
		if err != nil {
			return dst, 0, err
		}
		used += c.stored
		if c.decoded == 0 {
			return out, used, nil
		}
		n := len(out)
		out = out[:n+c.decoded]
		if _, err := io.ReadFull(r, out[n:]); err != nil {
			return dst, 0, err
		}
		// The library must have read this chunk exactly.
		if in.Len() != stored-used {
			return dst, 0, corrupt("a chunk does not end where it should")
		}
	}
}

// Containers, numbered as in Python's module lzma.
const (
	formatXZ    = 1
	formatAlone = 2
	formatRaw   = 3
)

// Filters, numbered as in Python's module lzma.
const (
	filterDelta = 3
	filterLZMA1 = 0x4000000000000001
	filterLZMA2 = 0x21
)

// Checksums of .xz files, numbered as in Python's module lzma.
const (
	checkUsual  = -1
	checkNone   = 0
	checkCRC32  = 1
	checkCRC64  = 4
	checkSHA256 = 10
)

// usualPreset is the default effort.
const usualPreset = 6

// newLZMA is the factory of numcodecs.lzma.
func newLZMA(configuration []byte) (any, error) {
	c := struct {
		Format  codec.Int         `json:"format"`
		Check   codec.Int         `json:"check"`
		Preset  *codec.Int        `json:"preset"`
		Filters []json.RawMessage `json:"filters"`
	}{Format: formatXZ, Check: checkUsual}
	if err := decode(configuration, &c); err != nil {
		return nil, err
	}
	refuse := func(format string, args ...any) (any, error) {
		return nil, fmt.Errorf("%w: lzma: %s", codec.ErrConfiguration, fmt.Sprintf(format, args...))
	}
	made := &lzmaCoder{format: int(c.Format)}
	switch {
	case c.Format < formatXZ || c.Format > formatRaw:
		return refuse("format %d is neither 1 (.xz), 2 (.lzma) nor 3 (raw)", c.Format)
	case c.Preset != nil && c.Filters != nil:
		return refuse("it has both a preset and filters; omit one of them")
	case c.Filters == nil && c.Format == formatRaw:
		return refuse("a raw stream has no header, so it needs filters")
	case c.Check != checkUsual && c.Check != checkNone && c.Format != formatXZ:
		return refuse("check %d, but only .xz files (format 1) have checks", c.Check)
	}
	switch c.Check {
	case checkUsual:
		made.check = checkCRC64
	case checkNone, checkCRC32, checkCRC64, checkSHA256:
		made.check = byte(c.Check)
	default:
		return refuse("check %d is not 0, 1 (CRC-32), 4 (CRC-64) or 10 (SHA-256)", c.Check)
	}
	if c.Filters != nil {
		return made, made.setFilters(c.Filters)
	}
	preset := codec.Int(usualPreset)
	if c.Preset != nil {
		preset = *c.Preset
	}
	made.chunked = c.Format == formatXZ
	return made, made.setPreset(preset)
}

// setFilters sets the filters: deltas, and as the last one the LZMA of the container.
func (c *lzmaCoder) setFilters(filters []json.RawMessage) error {
	if len(filters) < 1 || len(filters) > 4 {
		return fmt.Errorf("%w: lzma: %d filters, but 1 to 4 are possible", codec.ErrConfiguration, len(filters))
	}
	for i, raw := range filters {
		id, err := c.setFilter(raw)
		last := i == len(filters)-1
		switch {
		case err != nil:
			return fmt.Errorf("%w (filter %d)", err, i)
		case (id == filterDelta) == last:
			return fmt.Errorf("%w: lzma: filter %d is %#x; LZMA must be the last filter, and no other", codec.ErrConfiguration, i, id)
		case last && (c.format == formatXZ && id != filterLZMA2 || c.format == formatAlone && (id != filterLZMA1 || i > 0)):
			return fmt.Errorf("%w: lzma: format %d cannot have filter %d, which is %#x", codec.ErrConfiguration, c.format, i, id)
		}
	}
	return nil
}

// setFilter sets one filter and returns its kind.
func (c *lzmaCoder) setFilter(raw json.RawMessage) (int64, error) {
	var members map[string]json.RawMessage
	var id codec.Int
	if json.Unmarshal(raw, &members) != nil || id.UnmarshalJSON(members["id"]) != nil {
		return 0, fmt.Errorf("%w: lzma: a filter is an object with an id", codec.ErrConfiguration)
	}
	switch id {
	case filterDelta:
		return filterDelta, c.setDelta(raw)
	case filterLZMA1, filterLZMA2:
		c.chunked = id == filterLZMA2
		return int64(id), c.setLZMA(raw)
	case 4, 5, 6, 7, 8, 9, 10, 11:
		return int64(id), fmt.Errorf("%w: lzma: filter %d, which is for machine code", codec.ErrUnsupported, id)
	}
	return int64(id), fmt.Errorf("%w: lzma: there is no filter %d", codec.ErrConfiguration, id)
}

func (c *lzmaCoder) setDelta(raw json.RawMessage) error {
	f := struct {
		ID       codec.Int `json:"id"`
		Distance codec.Int `json:"dist"`
	}{Distance: 1}
	if err := decode(raw, &f); err != nil {
		return err
	}
	if f.Distance < 1 || f.Distance > 256 {
		return fmt.Errorf("%w: lzma: distance %d of a delta is not within 1 to 256", codec.ErrConfiguration, f.Distance)
	}
	c.deltas = append(c.deltas, int(f.Distance))
	return nil
}

// setLZMA sets an LZMA filter. It ignores members about the search for matches, because
// the library does not expose them.
func (c *lzmaCoder) setLZMA(raw json.RawMessage) error {
	var f struct {
		ID         codec.Int  `json:"id"`
		Preset     *codec.Int `json:"preset"`
		Dictionary *codec.Int `json:"dict_size"`
		LC         *codec.Int `json:"lc"`
		LP         *codec.Int `json:"lp"`
		PB         *codec.Int `json:"pb"`
		Mode       codec.Int  `json:"mode"`
		Nice       codec.Int  `json:"nice_len"`
		Finder     codec.Int  `json:"mf"`
		Depth      codec.Int  `json:"depth"`
	}
	if err := decode(raw, &f); err != nil {
		return err
	}
	preset := codec.Int(usualPreset)
	if f.Preset != nil {
		preset = *f.Preset
	}
	if err := c.setPreset(preset); err != nil {
		return err
	}
	p := &c.properties
	for to, from := range map[*int]*codec.Int{&p.LC: f.LC, &p.LP: f.LP, &p.PB: f.PB, &c.dictionary: f.Dictionary} {
		if from == nil {
			continue
		}
		if *from < 0 || *from > math.MaxInt32 {
			return fmt.Errorf("%w: lzma: %d in a filter", codec.ErrConfiguration, *from)
		}
		*to = int(*from)
	}
	if p.LC+p.LP > 4 || p.PB > 4 {
		return fmt.Errorf("%w: lzma: lc %d, lp %d, pb %d; each must be 0 to 4, and so must lc+lp", codec.ErrConfiguration, p.LC, p.LP, p.PB)
	}
	return nil
}

// setPreset sets the effort. Bit 31 of a preset means the extreme variant.
func (c *lzmaCoder) setPreset(preset codec.Int) error {
	const extreme = 1 << 31
	level := preset &^ extreme
	if level < 0 || level > 9 {
		return fmt.Errorf("%w: lzma: preset %d is not within 0 to 9", codec.ErrConfiguration, preset)
	}
	log := [...]int{18, 20, 21, 22, 22, 23, 23, 24, 25, 26}[level] // log2 of the dictionary size
	c.dictionary, c.properties = 1<<log, lzma.Properties{LC: 3, PB: 2}
	return nil
}

// decode stores the members of a configuration.
func decode(configuration []byte, dst any) error {
	if err := codec.DecodeConfiguration(configuration, dst); err != nil {
		return fmt.Errorf("%w: lzma: %w", codec.ErrConfiguration, err)
	}
	return nil
}
