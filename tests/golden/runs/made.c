










	memset(block, 0, bytes);







        total += square(i);
    }
    return total;



















