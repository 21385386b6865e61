// What the page's components take from its provider: the stream.
import { createContext, useContext } from "react";

export const StreamContext = createContext(undefined);
export const useStreamContext = () => useContext(StreamContext);
