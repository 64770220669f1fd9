// SPDX-License-Identifier: Apache-2.0

package interop

import (
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"os"
	"os/exec"
	"slices"
	"testing"

	"varve.dev/zarr"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/rechunk"
	"varve.dev/zarr/store/s3/s3test"
)

// TestBucket writes, appends to and rechunks arrays in a bucket of versitygw, which
// others read through their own clients: zarr-python with s3fs and obstore, TensorStore,
// and zarrita as from a web server.
func TestBucket(t *testing.T) {
	service := s3test.Gateway(t, false)
	bucket := service.Bucket(t)
	service.Publish(t, bucket)
	every := grid.Chunks(3, 4)
	for name, spec := range map[string]zarr.Spec{
		"chunks": {Chunks: every}, "shards": {Chunks: grid.Chunks(6, 8), InnerChunks: every},
	} {
		t.Run(name, func(t *testing.T) {
			spec.Type, spec.Shape = dtype.Int32, []int64{10, 9}
			path := name + ".zarr/a"
			a, err := zarr.CreateArray(t.Context(), service.Location(bucket, path), spec, nil)
			check(t, err)
			defer a.Close()
			check(t, zarr.Write(t.Context(), a, nil, counted(90)))
			readByOthers(t, service, bucket, path, counted(90))
			check(t, zarr.Append(t.Context(), a, 0, counted(108)[90:], nil))
			readByOthers(t, service, bucket, path, counted(108))
			_, err = rechunk.Do(t.Context(), a, rechunk.Rechunking{Chunks: rechunk.Cuts{grid.Every(5), grid.Every(2)}, Unpack: name == "shards"}, nil)
			check(t, err)
			readByOthers(t, service, bucket, path, counted(108))
		})
	}
}

// counted returns the numbers from 1 on.
func counted(n int) []int32 {
	values := make([]int32, n)
	for i := range values {
		values[i] = int32(i + 1)
	}
	return values
}

// readByOthers expects elements in rows of nine.
func readByOthers(t *testing.T, service *s3test.Service, bucket, path string, want []int32) {
	t.Helper()
	for _, client := range []string{"s3fs", "obstore", "tensorstore"} {
		c := exec.Command(interpreter(t), "bucket.py", client, service.URL, bucket, path)
		c.Env = append(os.Environ(), "AWS_ACCESS_KEY_ID="+s3test.User, "AWS_SECRET_ACCESS_KEY="+s3test.Secret, "AWS_REGION=us-east-1", "AWS_EC2_METADATA_DISABLED=true")
		c.Stderr = os.Stderr
		out, err := c.Output()
		if err != nil {
			t.Fatalf("%s: %v", client, err)
		}
		var found struct {
			Shape []int64
			Data  string
		}
		check(t, json.Unmarshal(out, &found))
		compareFound(t, client, found.Shape, found.Data, want)
	}
	n := startNode(t)
	found := n.read(t, service.URL+"/"+bucket+"/"+path, nil)
	var data string
	check(t, json.Unmarshal(found.Data, &data))
	compareFound(t, "zarrita", found.Shape, data, want)
}

// compareFound compares little-endian elements in hexadecimal with the wanted ones.
func compareFound(t *testing.T, client string, shape []int64, text string, want []int32) {
	t.Helper()
	data, err := hex.DecodeString(text)
	check(t, err)
	got := make([]int32, len(data)/4)
	for i := range got {
		got[i] = int32(binary.LittleEndian.Uint32(data[4*i:]))
	}
	if !slices.Equal(shape, []int64{int64(len(want) / 9), 9}) || !slices.Equal(got, want) {
		t.Errorf("%s reads %v of shape %v, want %v", client, got, shape, want)
	}
}
