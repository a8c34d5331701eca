// a browser's own process waits for the GPU: nothing burns a core here

export const waitFor = async <T>(promise: PromiseLike<T>): Promise<T> => promise;
