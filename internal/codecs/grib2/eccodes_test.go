// SPDX-License-Identifier: Apache-2.0

package grib2_test

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"math"
	"os"
	"testing"
)

// written is a message that ecCodes 2.50 wrote, with a hash of the values that it reads:
// little-endian doubles, of which missing ones are 0x7ff8000000000001.
type written struct {
	Name    string
	Shape   []int64
	Message []byte
	SHA256  string
}

func readWritten(t testing.TB) (list []written) {
	t.Helper()
	text, err := os.ReadFile("testdata/eccodes.json")
	if err == nil {
		err = json.Unmarshal(text, &list)
	}
	if err != nil || len(list) == 0 {
		t.Fatal(len(list), err)
	}
	return list
}

// TestECCodes decodes messages with every option of every packing.
func TestECCodes(t *testing.T) {
	for _, w := range readWritten(t) {
		got, err := decode(t, 0, w.Message, w.Shape...)
		var b []byte
		for _, x := range got {
			if math.IsNaN(x) {
				x = math.NaN()
			}
			b = binary.LittleEndian.AppendUint64(b, math.Float64bits(x))
		}
		if sum := sha256.Sum256(b); err != nil || hex.EncodeToString(sum[:]) != w.SHA256 {
			t.Errorf("%s: %v, other values than ecCodes: %v", w.Name, err, got[:8])
		}
	}
}
