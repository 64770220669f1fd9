// SPDX-License-Identifier: Apache-2.0

// Package strictjson parses untrusted JSON. It refuses duplicate member names, invalid
// UTF-8, lone surrogates, trailing data, and documents beyond its limits of size and
// depth. [Parse] makes one pass over the bytes and builds no tree. A [Value] points into
// the document.
//
//	v, err := strictjson.Parse(data, strictjson.Limits{})
//	shape, _ := v.Member("shape")
//	for _, e := range shape.Elements() {
//		n, err := e.Int64() // 4, 4.0 and 4e0 are integers; "4" and true are not
//	}
//
// Errors are of type [*Error] and have the JSON pointer of the value. The pointer is
// computed from the byte offset when an error occurs, so valid documents pay nothing for
// it.
//
// Parse takes O(n log n) time for any n bytes. Its memory is that of the member names of
// all open objects. Methods of a value take time proportional to its length.
package strictjson
