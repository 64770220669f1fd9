package lzma

// Delta replaces every byte by its difference from the one that stands so many bytes before it.
func Delta(data []byte, distance int) {
	for i := len(data) - 1; i >= distance; i-- {
		data[i] -= data[i-distance]
	}
}

// Undelta undoes [Delta].
func Undelta(data []byte, distance int) {
	for i := distance; i < len(data); i++ {
		data[i] += data[i-distance]
	}
}
