// SPDX-License-Identifier: Apache-2.0

package fits

import (
	"fmt"
	"strings"

	"varve.dev/zarr/virtual/scan"
)

const (
	blockBytes = 2880 // of a block (section 3.1)
	cardBytes  = 80   // of a keyword record (section 4.1)
	// maxHeader bounds the headers of a file in bytes.
	maxHeader = 64 << 20
)

// header is a header.
type header struct {
	attributes scan.Attributes
	values     map[string]any // by keyword; the first one counts
	comments   map[string][]string
	// long and open are a keyword and its value, if the value ends with an ampersand so
	// that it may go on in the next record.
	long string
	open []byte
	end  int64 // offset of the first byte after the header
}

// readHeader reads the header at an offset. room is the number of bytes that it may have.
func readHeader(f *scan.File, at, room int64) (*header, error) {
	h := &header{values: map[string]any{}, comments: map[string][]string{}}
	for h.end = at; ; {
		if h.end-at+blockBytes > room {
			return nil, scan.Unsupportedf("headers of more than %d bytes", maxHeader)
		}
		block, err := f.Bytes(h.end, blockBytes)
		if err != nil {
			return nil, fmt.Errorf("the end of the header is missing: %w", err)
		}
		h.end += blockBytes
		for ; len(block) > 0; block = block[cardBytes:] {
			if strings.TrimRight(string(block[:cardBytes]), " ") == "END" {
				h.finish()
				return h, nil
			}
			h.add(string(block[:cardBytes]))
		}
	}
}

// add adds a keyword record (section 4.1.2).
func (h *header) add(card string) {
	keyword := strings.TrimRight(card[:8], " ")
	switch {
	case keyword == "CONTINUE" && h.long != "":
		h.goOn(card[8:])
		return
	case keyword == "COMMENT", keyword == "HISTORY":
		h.comments[keyword] = append(h.comments[keyword], strings.TrimRight(card[8:], " "))
	case keyword == "HIERARCH":
		// A convention for longer keywords.
		if name, value, ok := strings.Cut(card[8:], "="); ok {
			h.set(strings.Trim(name, " "), value)
		}
	case card[8:10] == "= ":
		h.set(keyword, card[10:])
	}
}

// set sets the value of a keyword.
func (h *header) set(keyword, text string) {
	h.closeText()
	value := parseValue(text)
	if s, ok := value.(string); ok && strings.HasSuffix(s, "&") {
		h.long, h.open = keyword, []byte(s)
		return
	}
	h.put(keyword, value)
}

// goOn appends the string of a CONTINUE record to the value before it (section 4.2.1.2).
func (h *header) goOn(text string) {
	text = strings.TrimLeft(text, " ")
	if !strings.HasPrefix(text, "'") {
		return
	}
	s, _ := parseText(text)
	h.open = append(h.open[:len(h.open)-1], s...)
	if !strings.HasSuffix(s, "&") {
		h.closeText()
	}
}

// closeText sets the value that might have gone on.
func (h *header) closeText() {
	if h.long != "" {
		h.put(h.long, string(h.open))
		h.long, h.open = "", nil
	}
}

func (h *header) put(keyword string, value any) {
	if _, known := h.values[keyword]; known || value == nil || keyword == "" {
		return
	}
	h.values[keyword] = value
	if !isLayout(keyword) {
		h.attributes = append(h.attributes, scan.Attribute{Name: keyword, Value: value})
	}
}

// finish ends a header.
func (h *header) finish() {
	h.closeText()
	for _, keyword := range []string{"COMMENT", "HISTORY"} {
		if lines := h.comments[keyword]; lines != nil {
			h.put(keyword, strings.Join(lines, "\n"))
		}
	}
}

// isLayout reports whether a keyword describes the layout of the file (section 4.4.1).
func isLayout(keyword string) bool {
	switch keyword {
	case "SIMPLE", "XTENSION", "BITPIX", "PCOUNT", "GCOUNT", "GROUPS", "EXTEND":
		return true
	}
	rest, ok := strings.CutPrefix(keyword, "NAXIS")
	return ok && strings.Trim(rest, "0123456789") == ""
}

// number returns the value of a keyword that is an integer, or the default.
func (h *header) number(keyword string, without int64) (int64, error) {
	v, ok := h.values[keyword]
	if !ok {
		return without, nil
	}
	n, ok := v.(int64)
	if !ok || n < 0 && keyword != "BITPIX" {
		return 0, scan.Corruptf("%s is %v", keyword, v)
	}
	return n, nil
}

// float returns the value of a keyword that is a number, or the default.
func (h *header) float(keyword string, without float64) (float64, error) {
	switch v := h.values[keyword].(type) {
	case nil:
		return without, nil
	case int64:
		return float64(v), nil
	case float64:
		return v, nil
	default:
		return 0, scan.Corruptf("%s is %v", keyword, v)
	}
}

// text returns the value of a keyword that is a string, or "".
func (h *header) text(keyword string) string {
	s, _ := h.values[keyword].(string)
	return s
}
