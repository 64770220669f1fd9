// SPDX-License-Identifier: Apache-2.0

package input

import (
	"bytes"
	"fmt"
	"strings"

	"varve.dev/zarr/dtype"
)

// bareBytes returns the element of a byte string that a bare word stands for: its bytes,
// padded with zeros. ok is false if the word may only have a form of metadata. Metadata
// has base64 between quotes, and a shell may have removed these. So a word that is both
// text that fits and base64 is refused.
func bareBytes(t dtype.Type, text string) (elem []byte, ok bool, err error) {
	if !IsBareWord(t, text) {
		return nil, false, nil
	}
	text = strings.TrimSpace(text)
	if t.Kind() == dtype.KindBytes {
		elem = []byte(text)
	} else if elem = make([]byte, t.Size()); copy(elem, text) < len(text) {
		return nil, false, nil // it is base64, or an error
	}
	if decoded, err := t.ParseText(text); err == nil && !bytes.Equal(decoded, elem) {
		return nil, true, fmt.Errorf("%w: it is text of %d bytes, and also base64 of %d: give the text as 0x%x, or the base64 in double quotes, as '\"%s\"'",
			dtype.ErrInvalid, len(text), len(t.TrimPadding(decoded)), text, text)
	}
	return elem, true, nil
}

// IsBareWord reports whether t is a byte string, and its value neither a JSON string, nor
// a list, nor hexadecimal.
func IsBareWord(t dtype.Type, text string) bool {
	if t.Kind() != dtype.KindBytes && t.Kind() != dtype.KindTerminated {
		return false
	}
	text = strings.TrimSpace(text)
	return text != "" && !strings.HasPrefix(text, `"`) && !strings.HasPrefix(text, "[") && !strings.HasPrefix(text, "0x")
}

// IsBareBase64 reports whether [ParseGiven] reads a bare word as base64: it is too long
// for text of the type, or the type takes no text.
func IsBareBase64(t dtype.Type, text string) bool {
	text = strings.TrimSpace(text)
	switch t.Kind() {
	case dtype.KindTerminated, dtype.KindRaw, dtype.KindStruct:
		_, isText, _ := bareBytes(t, text)
		_, err := t.ParseText(text)
		return err == nil && text != "" && !isText && !strings.HasPrefix(text, "0x") && !strings.ContainsAny(text, "\"[{")
	}
	return false
}
