// SPDX-License-Identifier: Apache-2.0

package extra

import (
	"encoding/json"
	"fmt"
	"math"

	"github.com/ulikunitz/xz/lzma"

	"varve.dev/zarr/codec"
)

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
