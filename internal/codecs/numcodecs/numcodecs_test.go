// SPDX-License-Identifier: Apache-2.0

package numcodecs

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"varve.dev/zarr/codec"
	"varve.dev/zarr/codec/codectest"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/metadata"
)

// made returns the codec of some metadata.
func made(t testing.TB, ext metadata.Extension) codec.BytesBytes {
	t.Helper()
	c, err := codec.Default.New(ext)
	if err != nil {
		t.Fatal(err)
	}
	return c.(codec.BytesBytes)
}

// named returns the metadata of a codec by the name that numcodecs has for it.
func named(id, configuration string) metadata.Extension {
	return metadata.Extension{Name: prefix + id, Configuration: []byte(configuration)}
}

func TestContract(t *testing.T) {
	checked := &codectest.Options{Checksum: true}
	for _, c := range []struct {
		ext metadata.Extension
		o   *codectest.Options
	}{
		{Zlib(0), checked}, {Zlib(-1), checked}, {GZip(1), checked}, {Zstd(3, true), checked}, {Zstd(0, false), nil},
		{LZ4(1), nil}, {LZ4(20), nil}, {Base64(), &codectest.Options{Unframed: true}},
		{Blosc("lz4", 5, 1, 0), nil}, {Blosc("zstd", 1, -1, 0), nil},
		{Shuffle(0), &codectest.Options{Unframed: true}},
		{Shuffle(4), &codectest.Options{Unframed: true, Multiple: 4}},
		{Shuffle(7), &codectest.Options{Unframed: true, Multiple: 7}},
		{CRC32(""), checked}, {CRC32(End), checked}, {CRC32C(""), checked}, {CRC32C(Start), checked},
		{Adler32(""), checked}, {Adler32(End), checked},
		{Fletcher32(), &codectest.Options{Unframed: true}}, // of zeros it is 0, with any number of them
		{JenkinsLookup3(), checked}, {named("jenkins_lookup3", `{"initval": 7, "prefix": [1, 2, 3]}`), checked},
	} {
		t.Run(c.ext.Name+string(c.ext.Configuration), func(t *testing.T) {
			codectest.Run(t, func() any { return made(t, c.ext) }, c.o)
		})
	}
}

func fuzz(f *testing.F, ext metadata.Extension) {
	f.Helper()
	addFrames(f, ext.Name)
	codectest.Fuzz(f, func() any { return made(f, ext) })
}

func FuzzZlib(f *testing.F)       { fuzz(f, Zlib(1)) }
func FuzzLZ4(f *testing.F)        { fuzz(f, LZ4(1)) }
func FuzzShuffle(f *testing.F)    { fuzz(f, Shuffle(3)) }
func FuzzChecksum(f *testing.F)   { fuzz(f, Adler32("")) }
func FuzzFletcher32(f *testing.F) { fuzz(f, Fletcher32()) }
func FuzzBase64(f *testing.F)     { fuzz(f, Base64()) }
func FuzzBZ2(f *testing.F)        { fuzz(f, BZ2(1)) }
func FuzzJenkins(f *testing.F)    { fuzz(f, named("jenkins_lookup3", `{"prefix":[9]}`)) }

func Benchmark(b *testing.B) {
	for _, ext := range []metadata.Extension{
		Zlib(1), Zlib(9), GZip(1), Zstd(0, false), LZ4(1), Shuffle(2), Shuffle(4), Shuffle(8),
		CRC32(""), CRC32C(""), Adler32(""), Fletcher32(), JenkinsLookup3(),
	} {
		b.Run(strings.TrimPrefix(ext.Name, prefix)+string(ext.Configuration), func(b *testing.B) {
			codectest.Benchmark(b, func() any { return made(b, ext) })
		})
	}
}

func TestConfigurations(t *testing.T) {
	for _, c := range []struct {
		id, configuration string
		ok                bool
	}{
		{"zlib", `{}`, true}, {"zlib", `{"level": -1}`, true}, {"zlib", `{"level": 10}`, false}, {"zlib", `{"level": -2}`, false},
		{"zlib", `{"level": 1, "id": "zlib"}`, false}, {"zlib", `{"level": null}`, false}, {"zlib", `[]`, false},
		{"gzip", `{}`, true}, {"gzip", `{"level": 9}`, true}, {"gzip", `{"level": 10}`, false}, {"gzip", `{"level": "1"}`, false},
		{"zstd", `{}`, true}, {"zstd", `{"level": 100}`, true}, {"zstd", `{"level": 1, "checksum": true}`, true}, {"zstd", `{"x": 1}`, false},
		{"lz4", `{}`, true}, {"lz4", `{"acceleration": -5}`, true}, {"lz4", `{"acceleration": 1e10}`, false}, {"lz4", `{"level": 1}`, false},
		{"shuffle", `{}`, true}, {"shuffle", `{"elementsize": null}`, true}, {"shuffle", `{"elementsize": 1000000000000}`, true},
		{"shuffle", `{"elementsize": -1}`, false}, {"shuffle", `{"elementsize": 2.5}`, false}, {"shuffle", `{"size": 2}`, false},
		{"crc32", `{"location": "end"}`, true}, {"crc32", `{"location": "middle"}`, false}, {"crc32", `{"location": 1}`, false},
		{"crc32c", `{"location": "start"}`, true}, {"adler32", `{"place": "start"}`, false},
		{"blosc", `{}`, true}, {"blosc", `{"cname": "zstd", "clevel": 9, "shuffle": -1, "blocksize": 0}`, true}, {"blosc", `{"shuffle": 3}`, false},
		{"blosc", `{"shuffle": -2}`, false}, {"blosc", `{"cname": "brotli"}`, false}, {"blosc", `{"clevel": 10}`, false},
		{"blosc", `{"typesize": 256}`, false}, {"blosc", `{"shuffle": "bitshuffle"}`, false}, {"blosc", `{"x": 1}`, false},
		{"bz2", `{}`, true}, {"bz2", `{"level": 0}`, false}, {"bz2", `{"level": 10}`, false}, {"bz2", `{"level": 9}`, true},
		{"fletcher32", `{}`, true}, {"fletcher32", `{"location": "end"}`, false},
		{"jenkins_lookup3", `{"initval": 4294967295, "prefix": null}`, true}, {"jenkins_lookup3", `{"initval": 4294967296}`, false},
		{"jenkins_lookup3", `{"initval": -1}`, false}, {"jenkins_lookup3", `{"prefix": [256]}`, false},
		{"jenkins_lookup3", `{"prefix": "ab"}`, false}, {"jenkins_lookup3", `{"initval": null}`, false}, {"jenkins_lookup3", `null`, false},
	} {
		_, err := codec.Default.New(named(c.id, c.configuration))
		if (err == nil) != c.ok || !c.ok && !errors.Is(err, codec.ErrConfiguration) {
			t.Errorf("%s %s: %v", c.id, c.configuration, err)
		}
	}
}

// TestNames makes a codec of every name that others have for it.
func TestNames(t *testing.T) {
	for _, id := range []string{"zlib", "adler32", "fletcher32", "shuffle"} {
		want, err := made(t, named(id, `{}`)).Encode(nil, []byte("12345678"))
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{id, "https://codec.zarrs.dev/bytes_to_bytes/" + id} {
			if id == "adler32" && name != id {
				continue // never had one
			}
			got, err := made(t, metadata.Extension{Name: name}).Encode(nil, []byte("12345678"))
			if err != nil || string(got) != string(want) {
				t.Errorf("%s: %q, %v, want %q", name, got, err, want)
			}
		}
	}
}

// TestRefused names what is never read, and why.
func TestRefused(t *testing.T) {
	for name, why := range map[string]string{
		"numcodecs.pcodec": "no maintained library", "numcodecs.zfpy": "no maintained library", "zfp": "no maintained library",
		"zarrs.gdeflate": "no maintained library", "numcodecs.pickle": "runs code", "numcodecs.json2": "Python objects",
		"numcodecs.msgpack2": "Python objects", "numcodecs.categorize": "list of labels", "numcodecs.rot13": "import varve.dev/zarr",
	} {
		_, err := codec.Default.New(metadata.Extension{Name: name, Configuration: []byte(`{"x":1}`)})
		if !errors.Is(err, codec.ErrUnsupported) || !strings.Contains(err.Error(), name) || !strings.Contains(err.Error(), why) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestShuffleBound takes the size of elements from the data type where the metadata has
// none.
func TestShuffleBound(t *testing.T) {
	for name, want := range map[string]string{"uint16": "abcdABCD", "int32": "aAbBcCdD", "uint8": "abcdABCD"} {
		typ, err := dtype.Parse(name, nil)
		if err != nil {
			t.Fatal(err)
		}
		c := made(t, named("shuffle", `{}`))
		if err := c.(codec.Binder).Bind(codec.Spec{Type: typ, Rank: 1}); err != nil {
			t.Fatal(err)
		}
		src := map[string]string{"uint16": "aAbBcCdD"}[name]
		if src == "" {
			src = "abcdABCD"
		}
		if got, err := c.Encode(nil, []byte(src)); err != nil || string(got) != want {
			t.Errorf("%s: %q, %v, want %q", name, got, err, want)
		}
	}
	given := made(t, Shuffle(2))
	if err := given.(codec.Binder).Bind(codec.Spec{}); err != nil {
		t.Error(err)
	}
	if err := made(t, named("shuffle", `{}`)).(codec.Binder).Bind(codec.Spec{}); !errors.Is(err, codec.ErrConfiguration) {
		t.Errorf("elements without a size: %v", err)
	}
}

// TestElsewhere names the module that writes bzip2, and reads and writes LZMA.
func TestElsewhere(t *testing.T) {
	const module = "varve.dev/zarr/codec/extra"
	if _, err := made(t, BZ2(1)).Encode(nil, []byte("abc")); !errors.Is(err, codec.ErrUnsupported) || !strings.Contains(err.Error(), module) {
		t.Errorf("bz2: %v", err)
	}
	_, err := codec.Default.New(LZMA(1))
	if !errors.Is(err, codec.ErrUnsupported) || !strings.Contains(err.Error(), module) || !strings.Contains(err.Error(), `"numcodecs.lzma"`) {
		t.Errorf("lzma: %v", err)
	}
}

// TestProvided passes configurations on to what was provided, without members that are
// null.
func TestProvided(t *testing.T) {
	defer lzmaFactory.Store(nil)
	var got string
	ProvideLZMA(func(configuration []byte) (any, error) {
		got = string(configuration)
		return shuffler{}, nil
	})
	_, err := codec.Default.New(named("lzma", `{"preset":null,"format":1,"filters":null,"check":null}`))
	if want := `{"check":null,"format":1}`; got != want || err != nil {
		t.Errorf("%s, %v, want %s", got, err, want)
	}
}

// TestBloscBound has the size of elements in frames, and bits shuffled only where
// elements have one byte.
func TestBloscBound(t *testing.T) {
	const shuffledBytes, shuffledBits = 1, 4 // flags of a frame
	for name, want := range map[string][2]byte{"uint8": {shuffledBits, 1}, "float64": {shuffledBytes, 8}, "r24": {shuffledBytes, 3}} {
		typ, err := dtype.Parse(name, nil)
		if err != nil {
			t.Fatal(err)
		}
		c := made(t, Blosc("lz4", 5, -1, 0))
		if err := c.(codec.Binder).Bind(codec.Spec{Type: typ, Rank: 1}); err != nil {
			t.Fatal(err)
		}
		out, err := c.Encode(nil, make([]byte, 48_000))
		if err != nil || out[2]&(shuffledBits|shuffledBytes) != want[0] || out[3] != want[1] {
			t.Errorf("%s: % x, %v, want flags %d and size %d", name, out[:4], err, want[0], want[1])
		}
	}
}

func TestLZ4Headers(t *testing.T) {
	c := made(t, LZ4(1))
	for src, most := range map[string]int64{
		"": 10, "\x00\x00\x00\x00": 10, "\x00\x00\x00\x00\x00\x00": 10, "\x00\x00\x00\x00\x10": 10, "\x01\x00\x00\x00\x00": 10,
		"\xff\xff\xff\xff\x10a": 1 << 20, "\x00\x00\x00\x80\x10a": 1 << 20, "\x02\x00\x00\x00\x10a": 10, "\x00\x00\x00\x00\x10a": 10,
	} {
		if _, err := c.Decode(nil, []byte(src), most); !errors.Is(err, codec.ErrCorrupt) {
			t.Errorf("%q: error is %v, want ErrCorrupt", src, err)
		}
	}
	if out, err := c.Decode(nil, []byte("\x01\x00\x00\x00\x10a"), 1); err != nil || string(out) != "a" {
		t.Errorf("%q, %v", out, err)
	}
}

// plainFletcher32 is the checksum as HDF5 computes it, in 32 bits.
func plainFletcher32(data []byte) uint32 {
	var a, b uint32
	fold := func() { a, b = a&0xffff+a>>16, b&0xffff+b>>16 }
	for words := len(data) / 2; words > 0; {
		n := min(words, 360)
		for range n {
			a += uint32(data[0])<<8 | uint32(data[1])
			b += a
			data = data[2:]
		}
		words -= n
		fold()
	}
	if len(data) == 1 {
		a += uint32(data[0]) << 8
		b += a
		fold()
	}
	fold()
	return b<<16 | a
}

func ExampleZlib() {
	fmt.Println(Zlib(1).Name, string(Zlib(1).Configuration))
	// Output: numcodecs.zlib {"level":1}
}
