// SPDX-License-Identifier: Apache-2.0

package dtype

import (
	"errors"
	"strings"
	"testing"
)

func TestParseRefuses(t *testing.T) {
	tests := []struct {
		name, configuration string
		want                error
	}{
		{"float128", "", ErrUnsupported},
		{"numpy.datetime64", `{"unit": "x", "scale_factor": 1}`, ErrInvalid},
		{"numpy.datetime64", `{"unit": "s"}`, ErrInvalid},
		{"numpy.timedelta64", `{"unit": "s", "scale_factor": 0}`, ErrInvalid},
		{"numpy.timedelta64", `{"unit": "s", "scale_factor": 1, "x": 1}`, ErrInvalid},
		{"raw_bytes", `{"length_bytes": 0}`, ErrInvalid},
		{"raw_bytes", `{"length_bytes": 1048577}`, ErrUnsupported},
		{"null_terminated_bytes", "", ErrInvalid},
		{"fixed_length_utf32", `{"length_bytes": 6}`, ErrInvalid},
		{"int3", "", ErrUnsupported},
		{"Int8", "", ErrUnsupported},
		{"<i4", "", ErrUnsupported},
		{"", "", ErrUnsupported},
		{"r", "", ErrUnsupported},
		{"r*", "", ErrUnsupported},
		{"r-8", "", ErrUnsupported},
		{"r+8", "", ErrUnsupported},
		{"r8 ", "", ErrUnsupported},
		{"r8388616", "", ErrUnsupported},
		{"r18446744073709551624", "", ErrUnsupported},
		{"r0", "", ErrInvalid},
		{"r00", "", ErrInvalid},
		{"r08", "", ErrInvalid},
		{"r12", "", ErrInvalid},
		{"r8388609", "", ErrInvalid},
		{"int8", `{"a": 1}`, ErrInvalid},
		{"int8", `null`, ErrInvalid},
		{"int8", `[]`, ErrInvalid},
		{"int8", `{`, ErrInvalid},
		{"r16", `{"length_bytes": 2}`, ErrInvalid},
	}
	for _, tt := range tests {
		typ, err := Parse(tt.name, []byte(tt.configuration))
		if !errors.Is(err, tt.want) || !typ.IsZero() {
			t.Errorf("Parse(%q, %s) = %s, %v; want %v", tt.name, tt.configuration, typ, err, tt.want)
		}
		if err != nil && !strings.Contains(err.Error(), tt.name[:min(3, len(tt.name))]) {
			t.Errorf("Parse(%q): message %q", tt.name, err)
		}
	}
}

func TestParseConfiguration(t *testing.T) {
	for _, configuration := range [][]byte{nil, {}, []byte("{}"), []byte(" { \n\t} ")} {
		typ, err := Parse("int8", configuration)
		if err != nil || typ != Of[int8]() {
			t.Errorf("Parse(int8, %q) = %s, %v", configuration, typ, err)
		}
	}
}

func TestParseLargestRaw(t *testing.T) {
	if typ := parse(t, "r8388608"); typ.Size() != 1<<20 {
		t.Errorf("r8388608 has %d bytes", typ.Size())
	}
}

func TestMessagesAreShort(t *testing.T) {
	long := strings.Repeat("7", 60000)
	_, name := Parse("r"+long, nil)
	_, fill := Of[uint8]().ParseFill([]byte(long))
	_, text := Of[uint8]().ParseText(long)
	_, _, numpy := FromNumPy(long)
	for _, err := range []error{name, fill, text, numpy} {
		if err == nil || len(err.Error()) > 250 {
			t.Errorf("message of 60000 digits: %.300v", err)
		}
	}
}
