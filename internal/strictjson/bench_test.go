// SPDX-License-Identifier: Apache-2.0

package strictjson

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
)

// integers returns an array of n integers of four to six digits.
func integers(n int) []byte {
	r := rand.New(rand.NewPCG(1, 2))
	b := []byte{'['}
	for i := range n {
		if i > 0 {
			b = append(b, ',')
		}
		b = strconv.AppendInt(b, 1000+r.Int64N(200000), 10)
	}
	return append(b, ']')
}

// edges returns an array of n chunk edges, every fifth a run.
func edges(n int) []byte {
	var b strings.Builder
	b.WriteByte('[')
	for i := range n {
		if i > 0 {
			b.WriteString(", ")
		}
		if i%5 == 0 {
			fmt.Fprintf(&b, "[%d, %d]", 28+i%4, 1+i%7)
			continue
		}
		fmt.Fprint(&b, 1000+i%9000)
	}
	b.WriteByte(']')
	return []byte(b.String())
}

// sum adds up all integers of v and of the arrays within.
func sum(v Value) (total int64, err error) {
	for _, e := range v.Elements() {
		n := int64(0)
		if e.Kind() == Array {
			n, err = sum(e)
		} else {
			n, err = e.Int64()
		}
		if err != nil {
			return 0, err
		}
		total += n
	}
	return total, nil
}

func BenchmarkParse(b *testing.B) {
	for name, doc := range map[string][]byte{"integers": integers(1e6), "edges": edges(1e6), "members": members(1e6)} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(doc)))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := Parse(doc, Limits{}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkElements(b *testing.B) {
	for name, doc := range map[string][]byte{"integers": integers(1e6), "edges": edges(1e6)} {
		v, err := Parse(doc, Limits{})
		if err != nil {
			b.Fatal(err)
		}
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(doc)))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := sum(v); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkAppendIndent(b *testing.B) {
	doc := edges(1e6)
	var out []byte
	b.SetBytes(int64(len(doc)))
	for b.Loop() {
		out = AppendIndent(out[:0], doc)
	}
}

// members returns an object of n members.
func members(n int) []byte {
	b := []byte{'{'}
	for i := range n {
		if i > 0 {
			b = append(b, ',')
		}
		b = fmt.Appendf(b, `"k%d":%d`, i, i)
	}
	return append(b, '}')
}
