package ringbuffer

// StartAt moves the indices of a new ring, so that tests reach their wrap.
func (r *Ring) StartAt(index uint64) {
	r.current.Load().index = index - 1
	r.tail.Store(index)
}

// TakeFrom does the rest of a TakeBlock that was held up after it had loaded the current block.
func (b *Block) TakeFrom(n int) (first int64, got int) {
	x, taken := b.take(uint64(n))
	return int64(x), int(taken)
}

// AddTo does the rest of a TakeBlock that was held up after it had found IDs in the block.
func (b *Block) AddTo(n int) (first int64, got int) {
	x, taken := b.add(uint64(n))
	return int64(x), int(taken)
}

// PutHeldUp does a Put that is held up after takers have got the block, before it counts the slot.
func (r *Ring) PutHeldUp(first, last int64) {
	tail := r.tail.Load()
	r.Put(first, last)
	r.tail.Store(tail)
}
